import { FanoutService } from '../../../src/modules/group-message/fanout.service.js';
import type { GroupMessageStore } from '../../../src/modules/group-message/group-message.store.js';
import type { Message, MessagesFrame, Quote } from '../../../src/modules/group-message/group-message.types.js';
import type { QuoteService } from '../../../src/modules/group-message/quote.service.js';
import type { GroupService } from '../../../src/modules/group/group.service.js';
import { asSeq, asTenantId, asTopic, asUserId } from '../../../src/platform/ids/ids.js';
import type { Logger } from '../../../src/platform/observe/logger.js';
import { Metrics } from '../../../src/platform/observe/metrics.js';
import type { SocketServer } from '../../../src/platform/socket/socket-server.js';
import { type RawJson } from '../../../src/platform/wire/raw-json.js';

const tenant = asTenantId('1');
const topic = asTopic('grp_7');

const messageAt = (seq: number, text: string, quote?: number): Message => ({
  ...{ id: String(seq), topic, seq: asSeq(seq), from: asUserId('20'), clientMsgId: `c-${seq}`, type: 'text' },
  ...{ content: { text }, head: quote === undefined ? null : { quote }, mentionedUserIds: [], mentionAll: false },
  ...{ replySeq: null, rootSeq: null, status: 'normal', version: 1, createdAt: '', updatedAt: '' },
});
const recalled = (message: Message): Message => ({
  ...message,
  ...{ content: null, head: null, status: 'recalled', version: 2 },
});
const sized = (message: Message) => {
  const text = JSON.stringify(message);
  return { seq: message.seq, text, bytes: text.length + 1 };
};
const quoteOf = (seq: number): Quote => ({
  ...{ seq: asSeq(seq), from: asUserId('20'), type: 'text', status: 'normal', version: 1, text: 'quoted' },
});

/** The quotes of a frame are there when the test says so. */
function stage() {
  const frames: MessagesFrame[] = [];
  const composing: ((quotes: Quote[]) => void)[] = [];
  const resyncs: string[] = [];
  const store = { rowsOf: async (): Promise<unknown[]> => [] };
  const sockets = {
    emit: (_: string, event: string, payload: RawJson) => {
      if (event === 'topic:resync') resyncs.push(event);
      if (event === 'messages') frames.push(JSON.parse(payload.text) as MessagesFrame);
    },
  } as unknown as SocketServer;
  const quotes = {
    forAll: () => new Promise<Quote[]>((resolve) => composing.push(resolve)),
  } as unknown as QuoteService;
  const fanout = new FanoutService(
    sockets,
    store as unknown as GroupMessageStore,
    {} as GroupService,
    quotes,
    {} as Logger,
    new Metrics(),
  );
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  return { fanout, frames, composing, resyncs, store, turn };
}

describe('frames that wait for quotes', () => {
  it('go out with what was recalled meanwhile as recalled, in the frame itself and in its quotes', async () => {
    const { fanout, frames, composing, turn } = stage();
    const [quoting, next] = [messageAt(5, 'secret', 3), messageAt(6, 'secret too')];
    fanout.message(tenant, topic, sized(quoting), 4);
    fanout.message(tenant, topic, sized(messageAt(7, 'plain', 2)), 4);
    await turn();
    fanout.message(tenant, topic, sized(next), 5);
    for (const message of [quoting, next, messageAt(3, 'quoted')])
      fanout.changed(tenant, topic, recalled(message), 1, true);
    composing.shift()!([quoteOf(2), quoteOf(3)]);
    await turn();
    expect(JSON.stringify(frames)).not.toContain('secret');
    expect(frames.flatMap(({ messages }) => messages.map(({ seq, version }) => [seq, version]))).toEqual([
      [5, 2],
      [7, 1],
      [6, 2],
    ]);
    expect(frames[0].quotes?.map(({ seq }) => seq)).toEqual([2]);
  });

  it('keep nothing behind them for longer than their quotes take', async () => {
    const { fanout, frames, composing, turn } = stage();
    fanout.message(tenant, topic, sized(messageAt(1, 'a')), 1);
    fanout.message(tenant, topic, sized(messageAt(2, 'b', 1)), 1);
    await turn();
    fanout.message(tenant, topic, sized(messageAt(3, 'c')), 2);
    await turn();
    expect(frames).toEqual([]);
    composing.shift()!([]);
    await turn();
    expect(frames.map(({ messages }) => messages.map(({ seq }) => seq))).toEqual([[1, 2], [3]]);
  });

  const pause = () => new Promise((resolve) => setTimeout(resolve, 60));
  const row = (seq: number, status: string, version: number) => ({
    ...{ id: String(seq), seqid: String(seq), from_user: '20', client_msg_id: `c-${seq}`, msg_type: 'text' },
    ...{ content: '{"text":"secret"}', head: null, mentioned_user_ids: null, mention_all: 0, status, version },
    ...{ created_at: new Date(0), updated_at: new Date(0), reply_seqid: null, root_seqid: null },
  });

  it('longer than a moment are compared with what is stored: another node may have recalled what they hold', async () => {
    const { fanout, frames, composing, store, turn } = stage();
    store.rowsOf = async () => [row(5, 'recalled', 2), row(3, 'recalled', 2), row(2, 'normal', 1)];
    fanout.message(tenant, topic, sized(messageAt(5, 'secret', 3)), 4);
    await turn();
    await pause();
    composing.shift()!([quoteOf(2), quoteOf(3)]);
    await pause();
    expect(JSON.stringify(frames)).not.toContain('secret');
    expect(frames.flatMap(({ messages }) => messages.map(({ status, version }) => [status, version]))).toEqual([
      ['recalled', 2],
    ]);
    expect(frames[0].quotes ?? []).toEqual([]);
  });

  it('longer than a moment, when that cannot be known, are left to the members to ask for', async () => {
    const { fanout, frames, composing, resyncs, store, turn } = stage();
    store.rowsOf = () => Promise.reject(new Error('the database is away'));
    fanout.message(tenant, topic, sized(messageAt(5, 'secret', 3)), 4);
    await turn();
    await pause();
    composing.shift()!([]);
    await pause();
    expect(frames).toEqual([]);
    expect(resyncs).toHaveLength(1);
  });
});
