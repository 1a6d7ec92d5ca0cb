import fc from 'fast-check';
import { TridentClient, type SendHandle } from '../src/index.js';
import { CALM, FakeServer, type Chaos } from './support/fake-server.js';
import { createRandom, fastRuntime, until } from './support/random.js';

const TOPICS = ['grp_1', 'grp_2'];
const SPEED = 40;

type Step =
  | { kind: 'send'; who: number; topic: number; times: number }
  | { kind: 'recall'; topic: number; pick: number }
  | { kind: 'cut'; who: number }
  | { kind: 'restart' }
  | { kind: 'pause'; ms: number };

const who = fc.nat(1);
const steps = fc.array(
  fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        kind: fc.constant('send' as const),
        who,
        topic: who,
        times: fc.integer({ min: 1, max: 4 }),
      }),
    },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('recall' as const), topic: who, pick: fc.nat(20) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('cut' as const), who }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('restart' as const) }) },
    { weight: 4, arbitrary: fc.record({ kind: fc.constant('pause' as const), ms: fc.integer({ min: 1, max: 25 }) }) },
  ),
  { minLength: 10, maxLength: 40, size: 'max' },
);

const CHAOS: Chaos = {
  dropFrame: 0.15,
  doubleFrame: 0.2,
  maxDelayMs: 15,
  refuseSend: 0.15,
  loseAck: 0.1,
  tombstone: 0.1,
  shortPages: true,
};

interface Player {
  client: TridentClient;
  shown: Map<string, number[]>;
  ordered: Map<string, number[]>;
  handles: SendHandle[];
}

const push = (map: Map<string, number[]>, topic: string, seq: number): void => {
  map.set(topic, [...(map.get(topic) ?? []), seq]);
};

const join = async (server: FakeServer, account: string, seed: number): Promise<Player> => {
  const client = new TridentClient({
    servers: server.url,
    runtime: fastRuntime(SPEED, seed),
    requestTimeoutMs: 20_000,
  });
  const player: Player = { client, shown: new Map(), ordered: new Map(), handles: [] };
  client.on('message', ({ topic, message }) => push(player.shown, topic, message.seq));
  client.on('ordered', ({ topic, message }) => push(player.ordered, topic, message.seq));
  client.on('error', ({ error }) => {
    throw error;
  });
  client.resume(server.rest.session(account));
  await client.connect();
  for (const topic of TOPICS) client.topic(topic);
  await until('a start in every topic', () => TOPICS.every((topic) => client.topic(topic).cursor !== null));
  return player;
};

const play = async (server: FakeServer, players: Player[], script: Step[]): Promise<void> => {
  let text = 0;
  for (const step of script) {
    switch (step.kind) {
      case 'send':
        for (let i = 0; i < step.times; i += 1) {
          const { client, handles } = players[step.who];
          handles.push(client.topic(TOPICS[step.topic]).sendText(`message ${(text += 1)}`));
        }
        break;
      case 'recall': {
        const topic = server.topic(TOPICS[step.topic]);
        const seq = [...topic.rows.keys()][step.pick % Math.max(1, topic.rows.size)];
        if (seq !== undefined)
          server.publish('message:changed', topic.change(seq, step.pick % 2 ? 'recalled' : 'normal'));
        break;
      }
      case 'cut':
        server.sockets()[step.who]?.disconnect(true);
        break;
      case 'restart':
        await server.stop();
        await server.start();
        break;
      case 'pause':
        await new Promise((resolve) => setTimeout(resolve, step.ms));
        break;
    }
  }
};

const check = (server: FakeServer, { client, shown, ordered, handles }: Player): void => {
  for (const name of TOPICS) {
    const topic = server.topic(name);
    const stored = topic.messages();
    const seqs = stored.map(({ seq }) => seq);
    expect(client.topic(name).messages()).toEqual(stored);
    expect(ordered.get(name) ?? []).toEqual(seqs);
    expect([...(shown.get(name) ?? [])].sort((a, b) => a - b)).toEqual(seqs);
    // the order of submission is the order of the numbers
    const own = handles.filter((handle) => handle.topic === name).map((handle) => handle.result?.seq ?? 0);
    expect(own).toEqual([...own].sort((a, b) => a - b));
  }
  for (const { clientMsgId, topic, result, state } of handles) {
    expect(state).toBe('sent');
    const copies = server
      .topic(topic)
      .messages()
      .filter((row) => row.clientMsgId === clientMsgId);
    expect(copies.map(({ seq }) => seq)).toEqual([result?.seq]);
  }
};

describe('TridentClient against a server that misbehaves', () => {
  it('ends with exactly the stored messages, in order, once each, and every send stored once', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer(), steps, async (seed, script) => {
        const server = new FakeServer(createRandom(seed));
        server.rest.users = ['alice', 'bob'].map((account, i) => ({
          uid: String(i + 1),
          account,
          password: 'demo-pass-1',
        }));
        for (const topic of TOPICS) server.topic(topic);
        await server.start();
        const players: Player[] = [];
        const passedTooEarly: string[] = [];
        try {
          for (const account of ['alice', 'bob']) players.push(await join(server, account, seed + players.length));
          server.onStore = (topic, seq) => {
            for (const { client } of players) {
              if ((client.topic(topic).cursor ?? 0) >= seq) passedTooEarly.push(`${topic} ${seq}`);
            }
          };
          server.chaos = CHAOS;
          await play(server, players, script);
          server.chaos = CALM;
          await until('every send settled', () => players.every(({ client }) => client.pending().length === 0));
          await until('no store on its way', () => TOPICS.every((topic) => server.topic(topic).inFlight.size === 0));
          await until('everyone online', () => players.every(({ client }) => client.state === 'online'));
          server.resync();
          await until('everyone caught up', () =>
            players.every(({ client }) =>
              TOPICS.every((topic) => {
                const { lastSeq, changes } = server.topic(topic);
                return client.topic(topic).cursor === lastSeq && client.topic(topic).changeCursor === changes.length;
              }),
            ),
          );
          expect(passedTooEarly).toEqual([]);
          for (const player of players) check(server, player);
        } finally {
          for (const { client } of players) await client.close();
          await server.stop();
        }
      }),
      // a run that fails takes its time-out: no shrinking
      { seed: 2026, numRuns: 12, endOnFailure: true },
    );
  }, 60_000);
});
