import { messageOf, type MessageRow } from '../../../src/modules/group-message/message-row.js';
import { hotHole, hotMember, readMember } from '../../../src/modules/group-message/hot-member.js';
import { arrayText, readRange, type HotRange, type RangeQuery } from '../../../src/modules/group-message/hot-range.js';
import { PageRow, type PageValues } from '../../../src/modules/group-message/page-row.js';
import { MAX_PAGE_BYTES } from '../../../src/modules/group-message/page-limits.js';
import { asTopic } from '../../../src/platform/ids/ids.js';

const TOPIC = asTopic('grp_12');
const AT = new Date('2026-01-02T03:04:05.070Z');

function rowOf(seq: number, more: Partial<MessageRow> = {}): MessageRow {
  return {
    ...{ id: String(seq + 100), seqid: String(seq), from_user: '5', client_msg_id: `m${seq}`, msg_type: 'text' },
    ...{ status: 'normal', content: JSON.stringify({ text: `魚 ${seq}` }), head: null, mentioned_user_ids: null },
    ...{ mention_all: 0, reply_seqid: null, root_seqid: null, version: 1, created_at: AT, updated_at: AT },
    ...more,
  };
}

const message = (seq: number, text?: string): Buffer =>
  Buffer.from(hotMember(messageOf(TOPIC, rowOf(seq, text ? { content: JSON.stringify({ text }) } : {}))));
const hole = (seq: number): Buffer => Buffer.from(hotHole(seq));

/** A set with these members, read as Redis would. */
function setOf(members: ReadonlyMap<number, Buffer>): (query: Partial<RangeQuery>) => Promise<HotRange | null> {
  return (more) => {
    const query: RangeQuery = {
      ...{ topic: TOPIC, direction: 'before', bound: null, limit: 3, floor: 0, stableSeq: 20 },
      ...more,
    };
    const read = (bound: number | null, limit: number): Buffer[] => {
      const forward = query.direction === 'after';
      const seqs = [...members.keys()].sort((a, b) => (forward ? a - b : b - a));
      const beyond = seqs.filter((seq) => bound === null || (forward ? seq > bound : seq < bound));
      return beyond.slice(0, limit).map((seq) => members.get(seq)!);
    };
    const from = query.direction === 'after' ? Math.max(query.bound!, query.floor) : query.bound;
    return readRange(query, read(from, query.limit + 1), (bound, limit) => Promise.resolve(read(bound, limit)));
  };
}

/** 1 to 20: 3 to 14 and 20 hold no message. */
const full = new Map(
  Array.from({ length: 20 }, (_, index) => index + 1).map((seq) => [
    seq,
    (seq > 2 && seq < 15) || seq === 20 ? hole(seq) : message(seq),
  ]),
);
const seqsOf = (range: HotRange | null): number[] | undefined => range?.entries.map(({ seq }) => seq);

describe('a page out of the hot set', () => {
  it.each([
    [{ bound: null }, [17, 18, 19], 19, true],
    [{ bound: 17 }, [2, 15, 16], 16, true],
    [{ bound: 16 }, [1, 2, 15], 15, false],
    [{ bound: 1 }, [], 0, false],
    [{ bound: 17, floor: 14 }, [15, 16], 16, false],
    [{ direction: 'after' as const, bound: 0 }, [1, 2, 15], 15, true],
    [{ direction: 'after' as const, bound: 2, limit: 1 }, [15], 15, true],
    [{ direction: 'after' as const, bound: 16 }, [17, 18, 19], 20, false],
    [{ direction: 'after' as const, bound: 19 }, [], 20, false],
    [{ direction: 'after' as const, bound: 50 }, [], 50, false],
    [{ direction: 'after' as const, bound: 0, floor: 16, limit: 2 }, [17, 18], 18, true],
  ])('of %j has what lies between its bounds', async (query, seqs, examined, hasMore) => {
    const range = await setOf(full)(query);
    expect(seqsOf(range)).toEqual(seqs);
    expect(range).toMatchObject({ examined, hasMore });
  });

  it.each([1, 2, 3, 7, 19])(
    'is the same whatever number is missing, or there is none (%i at a time)',
    async (limit) => {
      for (const missing of full.keys()) {
        const gappy = new Map([...full].filter(([seq]) => seq !== missing));
        for (let bound = 0; bound <= 21; bound += 1) {
          for (const direction of ['after', 'before'] as const) {
            const whole = await setOf(full)({ direction, bound, limit });
            const range = await setOf(gappy)({ direction, bound, limit });
            if (range) expect(range).toEqual(whole);
            else expect(direction === 'after' ? missing > bound : missing < bound).toBe(true);
          }
        }
      }
    },
  );

  it('takes a missing number for one in flight only above stableSeq', async () => {
    const gappy = new Map([...full].filter(([seq]) => seq !== 18));
    expect(await setOf(gappy)({ bound: null, stableSeq: 18 })).toBeNull();
    expect(seqsOf(await setOf(gappy)({ bound: null, stableSeq: 17 }))).toEqual([16, 17, 19]);
    expect(await setOf(gappy)({ direction: 'after', bound: 16, stableSeq: 18 })).toBeNull();
    expect(seqsOf(await setOf(gappy)({ direction: 'after', bound: 16, stableSeq: 17 }))).toEqual([17, 19]);
  });

  it('ends at 128 KiB, with at least one message', async () => {
    const long = new Map([1, 2, 3].map((seq) => [seq, message(seq, 'x'.repeat(60_000))]));
    expect(seqsOf(await setOf(long)({ stableSeq: 3 }))).toEqual([2, 3]);
    const range = await setOf(long)({ direction: 'after', bound: 0, stableSeq: 3 });
    expect(range).toMatchObject({ examined: 2, hasMore: true });
    expect(Buffer.byteLength(arrayText(range!.entries))).toBeLessThanOrEqual(MAX_PAGE_BYTES);
    const huge = new Map([[1, message(1, 'x'.repeat(200_000))]]);
    expect(seqsOf(await setOf(huge)({ stableSeq: 1 }))).toEqual([1]);
  });

  it('is the JSON of its messages, byte for byte', async () => {
    const range = await setOf(full)({ bound: 17 });
    expect(arrayText(range!.entries)).toBe(JSON.stringify([2, 15, 16].map((seq) => messageOf(TOPIC, rowOf(seq)))));
    expect(arrayText([])).toBe('[]');
  });
});

describe('a member of the hot set', () => {
  it('tells its seq and where its JSON begins', () => {
    for (const seq of [1, 12_345, Number.MAX_SAFE_INTEGER]) {
      const entry = readMember(message(seq), TOPIC)!;
      expect(entry.seq).toBe(seq);
      expect(JSON.parse(entry.member.toString('utf8', entry.from))).toMatchObject({ seq, topic: TOPIC });
      expect(readMember(hole(seq), TOPIC)).toMatchObject({ seq, from: 0 });
    }
    const edited = Buffer.from(`112${message(7).subarray(1).toString()}`);
    expect(readMember(edited, TOPIC)).toMatchObject({ seq: 7, from: 4 });
  });

  it.each(['', ':', '0:', '0:x', '1:', '1:{}', 'x:{"id":"1","topic":"grp_12","seq":3,', '1:{"seq":3,"id":"1"}', '5'])(
    '%j is none',
    (text) => {
      expect(readMember(Buffer.from(text), TOPIC)).toBeNull();
    },
  );

  it('of another topic is none', () => {
    expect(readMember(message(7), 'grp_1')).toBeNull();
  });
});

describe('a row of a page', () => {
  const valuesOf = (row: MessageRow): PageValues => [
    ...([
      row.id,
      row.seqid,
      row.from_user,
      row.client_msg_id,
      row.msg_type,
      row.status,
      row.content,
      row.head,
    ] as const),
    ...([row.mentioned_user_ids, row.mention_all, row.reply_seqid, row.root_seqid, row.version] as const),
    ...(['2026-01-02 03:04:05.070', '2026-01-02 03:04:05.070'] as const),
  ];

  it.each([
    {},
    {
      head: '{"quote":3}',
      mentioned_user_ids: '["9007199254740993"]',
      mention_all: 1,
      reply_seqid: '2',
      root_seqid: '1',
    },
    { content: JSON.stringify({ text: '"\\\n\u2028魚' }), version: 12 },
    { client_msg_id: 'a"b\\é', head: '{}' },
    { client_msg_id: null },
    { status: 'recalled' as const, head: '{"quote":3}', mentioned_user_ids: '["7"]', mention_all: 1 },
    { status: 'blocked' as const },
  ])('is written as the message would be: %j', (more) => {
    const row = rowOf(9, more);
    const written = new PageRow(TOPIC, valuesOf(row));
    expect(written.text).toBe(JSON.stringify(messageOf(TOPIC, row)));
    expect(written.member).toBe(hotMember(messageOf(TOPIC, row)));
    expect(written.bytes).toBe(Buffer.byteLength(written.text) + 1);
    expect(written).toMatchObject({ seq: 9, isVoid: false });
  });

  it('without a message is void', () => {
    expect(new PageRow(TOPIC, valuesOf(rowOf(9, { status: 'void', content: null }))).isVoid).toBe(true);
  });
});
