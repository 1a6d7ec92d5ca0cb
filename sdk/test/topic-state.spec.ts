import { TopicState, type Outcome } from '../src/topic-state.js';
import type { MessageChange } from '../src/wire.js';
import { FakeTopic } from './support/fake-topic.js';

const TOPIC = 'grp_1';
const seqsOf = (messages: { seq: number }[]): number[] => messages.map(({ seq }) => seq);

describe('TopicState', () => {
  const server = (): FakeTopic => new FakeTopic(TOPIC);
  const known = (cursor = 0): TopicState => new TopicState(TOPIC, 1000, { cursor, changeCursor: 0 });
  const add = (topic: FakeTopic) => topic.store(topic.number());

  it('advances at cursor + 1, over voids and over what was held', () => {
    const state = known();
    const topic = server();
    const [one, two, three, four] = [add(topic), add(topic), add(topic), add(topic)];
    const passed: number[] = [];
    const frame = (messages: (typeof one)[], voids: number[]): Outcome => {
      const outcome = state.applyFrame({ messages, voids });
      passed.push(...seqsOf(outcome.passed));
      return outcome;
    };
    expect(seqsOf(frame([four], []).shown)).toEqual([4]);
    expect([state.cursor, state.behind]).toEqual([0, true]);
    frame([one], [3]);
    expect(state.cursor).toBe(1);
    frame([], [2]);
    expect([state.cursor, state.behind]).toEqual([4, false]);
    expect(passed).toEqual([1, 4]);
    expect(frame([two, three, four], [1]).shown).toEqual([]);
  });

  it('takes only a page that starts at or below the cursor, and never beyond what is stable', () => {
    const state = known();
    const topic = server();
    const hanging = topic.number();
    for (let i = 0; i < 5; i += 1) add(topic);
    state.applyPage(0, topic.page({ afterSeq: 0, limit: 2 }));
    expect([state.cursor, state.behind]).toEqual([0, true]);
    topic.tombstone(hanging);
    state.applyPage(3, topic.page({ afterSeq: 3, limit: 10 }));
    expect(state.cursor).toBe(0);
    state.applyPage(0, topic.page({ afterSeq: 0, limit: 2 }));
    expect(state.cursor).toBe(6);
    expect(seqsOf(state.messages())).toEqual([2, 3, 4, 5, 6]);
  });

  it('does not start a new device at a doubtful stableSeq in the middle of a long topic', () => {
    const state = new TopicState(TOPIC, 1000);
    const topic = server();
    for (let i = 0; i < 100; i += 1) add(topic);
    expect(state.applyPage(undefined, topic.page({ limit: 10, stableSeq: 0 })).shown).toEqual([]);
    expect(state.cursor).toBeNull();
    expect(state.messages()).toHaveLength(10);
    expect(state.applyPage(undefined, topic.page({ limit: 10 })).shown).toEqual([]);
    expect(state.cursor).toBe(100);
  });

  it('tells a new device what it heard live, although its first page has it too', () => {
    const state = new TopicState(TOPIC, 1000);
    const topic = server();
    for (let i = 0; i < 5; i += 1) add(topic);
    const live = add(topic);
    expect(seqsOf(state.applyFrame({ messages: [live], voids: [] }).shown)).toEqual([6]);
    const later = add(topic);
    const outcome = state.applyPage(undefined, topic.page({ limit: 50 }));
    expect([seqsOf(outcome.shown), seqsOf(outcome.passed)]).toEqual([[7], [6, 7]]);
    expect(state.applyFrame({ messages: [later], voids: [] }).shown).toEqual([]);
  });

  it('knows an own send by its ack, and prefers any copy of the server', () => {
    const state = known();
    const topic = server();
    const stored = add(topic);
    const own = { ...stored, head: { client: 'mine' } };
    expect(seqsOf(state.applyOwnSend(own).passed)).toEqual([1]);
    expect(state.isProvisional(1)).toBe(true);
    const outcome = state.applyFrame({ messages: [stored], voids: [] });
    expect([outcome.shown, outcome.changed]).toEqual([[], []]);
    expect(state.messages()).toEqual([stored]);
    expect(state.isProvisional(1)).toBe(false);
  });

  it('keeps the highest version, whichever comes last', () => {
    const state = known();
    const topic = server();
    const stored = add(topic);
    const second = topic.change(1, 'normal', 'second');
    const third = topic.change(1, 'recalled');
    state.applyChange(third);
    state.applyChange(second);
    state.applyFrame({ messages: [stored], voids: [] });
    expect(state.applyChange(second).changed).toEqual([]);
    expect(state.messages()).toEqual([topic.rows.get(1)]);
    expect(state.changes.cursor()).toBe(2);
  });

  it('holds a change above the change cursor until the ones below are read', () => {
    const state = known();
    const topic = server();
    state.applyFrame({ messages: [add(topic), add(topic)], voids: [] });
    topic.change(1, 'recalled');
    state.applyChange(topic.change(2, 'recalled'));
    expect([state.changes.cursor(), state.changes.behind()]).toEqual([0, true]);
    state.applyChangesPage(0, topic.changesPage(0, 1));
    expect([state.changes.cursor(), state.changes.behind()]).toEqual([2, false]);
    expect(state.messages().map(({ status }) => status)).toEqual(['recalled', 'recalled']);
  });

  it('does not show what was hidden before it came, and still passes it', () => {
    const state = known();
    const topic = server();
    const [one, two] = [add(topic), add(topic)];
    state.applyHidden([1]);
    expect(state.applyFrame({ messages: [one], voids: [] }).shown).toEqual([]);
    expect(state.cursor).toBe(1);
    state.applyFrame({ messages: [two], voids: [] });
    state.applyHidden([2]);
    expect(state.messages()).toEqual([]);
    expect(state.applyPage(0, topic.page({ afterSeq: 0, limit: 9 })).shown).toEqual([]);
  });

  it('stays bounded when the cursor is stuck, and shows the rest by pages later', () => {
    const state = new TopicState(TOPIC, 10, { cursor: 0 });
    const topic = server();
    const hanging = topic.number();
    const shown: number[] = [];
    for (let i = 0; i < 12_000; i += 1) {
      shown.push(...seqsOf(state.applyFrame({ messages: [add(topic)], voids: [] }).shown));
    }
    expect(shown).toHaveLength(10_000);
    topic.tombstone(hanging);
    const outcome = state.applyPage(0, topic.page({ afterSeq: 0, limit: 20_000 }));
    expect([outcome.shown.length, outcome.passed.length, state.cursor]).toEqual([2000, 12_000, 12_001]);
    expect(seqsOf(state.messages())).toEqual(Array.from({ length: 10 }, (_, i) => 11_992 + i));
  });

  it('knows what quoted messages look like now, whatever comes first', () => {
    const state = known();
    const topic = server();
    const [quoted, other] = [add(topic), add(topic)];
    const quote = (version: number, text: string | null, seq = quoted.seq) =>
      ({ seq, from: '7', type: 'text', status: 'normal', version, text }) as const;
    const change = (seq: number, version: number, more: object): MessageChange =>
      ({ topic: TOPIC, seq, version, status: 'normal', updatedAt: other.updatedAt, ...more }) as MessageChange;
    state.applyFrame({ messages: [], voids: [], quotes: [quote(1, 'first')] });
    expect(state.quotes.get(quoted.seq)?.text).toBe('first');
    state.applyChange(change(quoted.seq, 2, { content: { text: '😀'.repeat(300) } }));
    expect(state.quotes.get(quoted.seq)).toMatchObject({ version: 2, text: '😀'.repeat(200) });
    state.applyPage(undefined, { ...topic.page({ limit: 1 }), quotes: [quote(1, 'first')] });
    expect(state.quotes.get(quoted.seq)?.version).toBe(2);
    state.applyChange(change(quoted.seq, 3, { status: 'recalled', content: null }));
    expect(state.quotes.get(quoted.seq)).toMatchObject({ status: 'recalled', text: null });
    state.applyChange(change(other.seq, 5, { status: 'deleted', content: null }));
    state.applyFrame({ messages: [], voids: [], quotes: [quote(4, 'late', other.seq)] });
    expect(state.quotes.get(other.seq)).toMatchObject({ version: 5, text: null });
    state.applyHidden([other.seq]);
    expect(state.quotes.get(other.seq)).toBeUndefined();
  });
});
