import * as fc from 'fast-check';
import { createConnection, type Connection } from 'mysql2/promise';
import {
  DirectMessageStore,
  type DirectOutcome,
  type DirectSend,
} from '../../../src/modules/direct-message/direct-message.store.js';
import { DirectWriter } from '../../../src/modules/direct-message/direct-writer.js';
import { bodyOf } from '../../../src/modules/group-message/message-row.js';
import { asTenantId, asUserId, type TenantId, type Topic, type UserId } from '../../../src/platform/ids/ids.js';
import { directTopic } from '../../../src/platform/ids/topic.js';
import { databaseAt } from '../../support/environment.js';
import { Stage } from '../../support/stage.js';
import { until } from '../../support/until.js';

let stage: Stage;
let tenant: TenantId;
let stores: DirectMessageStore[];
let writers: DirectWriter[];
let next = 1000;

beforeAll(async () => {
  stage = await Stage.open();
  tenant = asTenantId(await stage.tenant('demo', ['alice']));
  const nodes = [await stage.inProcess(), await stage.inProcess()];
  stores = nodes.map((node) => node.application.nest.get(DirectMessageStore, { strict: false }));
  writers = nodes.map((node) => node.application.nest.get(DirectWriter, { strict: false }));
}, 60_000);
afterAll(() => stage.close());

/** Two users who have never talked. */
function pair(): { topic: Topic; sides: [UserId, UserId] } {
  next += 2;
  const sides: [UserId, UserId] = [asUserId(String(next)), asUserId(String(next + 1))];
  return { topic: directTopic(...sides), sides };
}

function message(topic: Topic, from: UserId, clientMsgId: string, text = 'text', aclVersion = 0): DirectSend {
  const none = { head: null, mentionedUserIds: [], mentionAll: false, replySeq: null, rootSeq: null };
  const draft = { topic, clientMsgId, type: 'text' as const, content: { text }, ...none };
  return { from, body: bodyOf(draft, new Date()), aclVersion };
}

const rowsOf = (topic: Topic): Promise<{ seqid: string; from_user: string; client_msg_id: string; id: string }[]> =>
  stage.sql('demo', 'SELECT seqid, from_user, client_msg_id, id FROM im_messages WHERE topic = ? ORDER BY seqid', [
    topic,
  ]);
const counter = async (topic: Topic): Promise<number> =>
  Number((await stage.sql<{ seq: string }>('demo', 'SELECT seq FROM im_topic_seq WHERE topic = ?', [topic]))[0]?.seq);

async function connection(): Promise<Connection> {
  const { host, port, user, password, database } = databaseAt(stage.servers, `${stage.name}_demo`);
  return createConnection({ host, port, user, password, database });
}

describe('the numbers of a private chat', () => {
  it('whatever both sides send on both nodes at once, retries included: 1 to n, each message once, each answer true', async () => {
    const step = fc.record({
      node: fc.nat({ max: 1 }),
      side: fc.nat({ max: 1 }),
      id: fc.nat({ max: 6 }),
      batch: fc.integer({ min: 1, max: 4 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 14 }), async (steps) => {
        const { topic, sides } = pair();
        const sends = steps.flatMap(({ node, side, id, batch }) =>
          Array.from({ length: batch }, (_, index) => ({ node, send: message(topic, sides[side], `m-${id + index}`) })),
        );
        const answers = await Promise.all(sends.map(({ node, send }) => writers[node].append(tenant, topic, send)));
        const rows = await rowsOf(topic);
        expect(rows.map(({ seqid }) => Number(seqid))).toEqual(rows.map((_, index) => index + 1));
        expect(await counter(topic)).toBe(rows.length);
        const wanted = new Set(sends.map(({ send }) => `${send.from} ${send.body.draft.clientMsgId}`));
        expect(new Set(rows.map((row) => `${row.from_user} ${row.client_msg_id}`))).toEqual(wanted);
        answers.forEach((answer, index) => expectTrue(answer, sends[index].send, rows));
        expect(answers.filter(({ kind }) => kind === 'stored')).toHaveLength(rows.length);
      }),
      { numRuns: 25 },
    );
  }, 120_000);

  it('appear in the order of the commits: a reader who sees the counter finds every message up to it', async () => {
    const { topic, sides } = pair();
    const reader = await connection();
    await reader.query('SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED');
    let done = false;
    const missing: string[] = [];
    const reading = (async () => {
      while (!done) {
        const [[head]] = (await reader.query('SELECT seq FROM im_topic_seq WHERE topic = ?', [topic])) as never as [
          [{ seq: number } | undefined],
        ];
        const seq = Number(head?.seq ?? 0);
        const [[{ n }]] = (await reader.query('SELECT COUNT(*) AS n FROM im_messages WHERE topic = ? AND seqid <= ?', [
          ...[topic, seq],
        ])) as never as [[{ n: number }]];
        if (Number(n) !== seq) missing.push(`${n} of ${seq}`);
      }
    })();
    const sends = Array.from({ length: 200 }, (_, index) =>
      writers[index % 2].append(tenant, topic, message(topic, sides[index % 3 ? 0 : 1], `r-${index}`)),
    );
    await Promise.all(sends);
    done = true;
    await reading;
    await reader.end();
    expect(missing).toEqual([]);
    expect(await counter(topic)).toBe(200);
  }, 60_000);

  it('are given on after a deadlock, which nobody hears of', async () => {
    const { topic, sides } = pair();
    await writers[0].append(tenant, topic, message(topic, sides[0], 'first'));
    const other = await connection();
    // It holds the key that the append will insert and then wants the row that the append holds.
    await other.query('BEGIN');
    await other.query(
      `INSERT INTO im_messages (topic, seqid, from_user, client_msg_id, content, created_at, updated_at)
       VALUES (?, 2, ?, 'in the way', '{}', NOW(3), NOW(3))`,
      [topic, BigInt(sides[1])],
    );
    const sending = writers[0].append(tenant, topic, message(topic, sides[0], 'second'));
    await until('the append waits', async () => {
      const waiting = await stage.sql<{ n: string }>(
        'demo',
        "SELECT COUNT(*) AS n FROM information_schema.PROCESSLIST WHERE DB = DATABASE() AND INFO LIKE 'INSERT INTO im_messages%'",
      );
      return Number(waiting[0].n) > 0;
    });
    const cross = other.query('SELECT seq FROM im_topic_seq WHERE topic = ? FOR UPDATE', [topic]);
    // One of the two is the victim; either way the message is stored once the other has gone.
    await cross.catch(() => undefined);
    await other.query('ROLLBACK');
    await other.end();
    expect(await sending).toMatchObject({ kind: 'stored', stored: { seq: 2 } });
    expect((await rowsOf(topic)).map(({ client_msg_id: id }) => id)).toEqual(['first', 'second']);
  }, 30_000);

  it('are not given under permissions that have changed since', async () => {
    const { topic, sides } = pair();
    await stage.sql('demo', 'INSERT INTO im_topic_seq (topic, acl_version) VALUES (?, 1)', [topic]);
    const outcomes = await stores[0].append(tenant, topic, [
      message(topic, sides[0], 'old', 'text', 0),
      message(topic, sides[0], 'new', 'text', 1),
    ]);
    expect(outcomes).toMatchObject([{ kind: 'stale' }, { kind: 'stored', stored: { seq: 1 } }]);
  });

  it('one row that MySQL refuses fails alone', async () => {
    const { topic, sides } = pair();
    const bad = message(topic, sides[0], 'x'.repeat(65));
    const sends = [message(topic, sides[0], 'a'), bad, message(topic, sides[1], 'b')];
    // The first leaves alone; the others pile up behind it and leave together.
    const first = writers[0].append(tenant, topic, message(topic, sides[1], 'opens'));
    const results = await Promise.allSettled(sends.map((send) => writers[0].append(tenant, topic, send)));
    await first;
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect((await rowsOf(topic)).map(({ client_msg_id: id }) => id)).toEqual(['opens', 'a', 'b']);
  });
});

function expectTrue(
  answer: DirectOutcome,
  send: DirectSend,
  rows: readonly { seqid: string; from_user: string; client_msg_id: string; id: string }[],
): void {
  if (answer.kind === 'stale') throw new Error('nothing has changed');
  const row = rows.find(({ seqid }) => Number(seqid) === answer.stored.seq);
  expect(row).toMatchObject({ from_user: send.from, client_msg_id: send.body.draft.clientMsgId });
  expect(String(row?.id)).toBe(answer.stored.id);
}
