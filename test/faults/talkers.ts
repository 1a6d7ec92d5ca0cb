import type { Ack, TestClient } from '../support/client.js';
import { FULL_LENGTH, type FaultStage, type PrivateServer } from '../support/fault-stage.js';
import { pause } from '../support/load.js';
import { until } from '../support/until.js';

const OUTAGE_MS = FULL_LENGTH ? 60_000 : 10_000;
const CLIENTS = FULL_LENGTH ? 100 : 16;
/** Whatever the event; shorter than the outage, so that nothing may wait for its end. */
const ANSWERED_WITHIN_MS = FULL_LENGTH ? 15_000 : 9_000;

interface Answer {
  readonly event: string;
  /** Null when there was none. */
  readonly code: string | null;
}

/** Says one thing after the other, of all kinds. */
class Talker {
  readonly answers: Answer[] = [];
  private on = true;

  constructor(
    private readonly client: TestClient,
    private readonly topics: readonly string[],
    private readonly name: string,
  ) {}

  async talk(): Promise<void> {
    for (let round = 0; this.on; round += 1) {
      const topic = this.topics[round % this.topics.length];
      const text = { topic, clientMsgId: `${this.name}-${round}`, type: 'text', content: { text: 'hello' } };
      await this.say('topic:subscribe', { topics: [topic] });
      await this.say('message:send', text);
      await this.say('message:history', { topic, afterSeq: 0, limit: 10 });
      await this.say('topic:changes', { topic, afterChange: 0, limit: 10 });
      await this.say('session:heartbeat', {});
      await this.say('topic:unsubscribe', { topics: [topic] });
      await pause(50);
    }
  }

  stop(): void {
    this.on = false;
  }

  private async say(event: string, payload: object): Promise<void> {
    try {
      const ack = (await this.client.socket.timeout(ANSWERED_WITHIN_MS).emitWithAck(event, payload)) as Ack;
      this.answers.push({ event, code: ack.error?.code ?? 'ok' });
    } catch {
      this.answers.push({ event, code: null });
    }
  }
}

/** Two clients a pair of topics, one on each node, so that subscriptions come and go with them. */
async function talkers(faults: FaultStage): Promise<Talker[]> {
  const all: Talker[] = [];
  for (let index = 0; index < CLIENTS; index += 2) {
    const [owner, other] = [faults.users[index % 4], faults.users[(index + 1) % 4]];
    const topics = [
      await faults.stage.group(faults.nodes[0], owner, [other], `a${index}`),
      await faults.stage.group(faults.nodes[1], owner, [other], `b${index}`),
    ];
    for (const [at, user] of [owner, other].entries()) {
      const client = await faults.stage.connect(faults.nodes[at], user, { subscribe: 'manual' });
      all.push(new Talker(client, topics, `talker-${index}-${at}`));
    }
  }
  return all;
}

/** Kills a server for a while: every event is answered, no process ends, and all send again by themselves. */
export async function talkThroughOutage(faults: FaultStage, server: PrivateServer): Promise<void> {
  const all = await talkers(faults);
  const talking = all.map((talker) => talker.talk());
  await until('everybody talks', () => all.every((talker) => talker.answers.length > 6), 30_000);
  await server.kill();
  await pause(OUTAGE_MS);
  await server.start();
  const before = all.map((talker) => talker.answers.length);
  const sends = (talker: Talker, from: number): boolean =>
    talker.answers.slice(from).some(({ event, code }) => event === 'message:send' && code === 'ok');
  await until('everybody sends again', () => all.every((talker, at) => sends(talker, before[at])), 40_000);
  for (const talker of all) talker.stop();
  await Promise.all(talking);
  const answers = all.flatMap((talker) => talker.answers);
  const silent = answers.filter(({ code }) => code === null).map(({ event }) => event);
  expect([...new Set(silent)]).toEqual([]);
  const codes = new Set(answers.map(({ code }) => code));
  expect(codes.size).toBeGreaterThan(1);
  expect(codes).not.toContain('INTERNAL');
  expect(faults.nodes.every((node) => node.running)).toBe(true);
}
