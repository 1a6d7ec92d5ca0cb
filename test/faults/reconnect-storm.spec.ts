// eslint-disable-next-line @typescript-eslint/no-require-imports -- plain CommonJS of the load client
const { Connection } = require('../../bench/fanout/connection.js') as { Connection: LeanConnection };
import { TridentClient } from '../../sdk/src/index.js';
import { crowd } from '../support/crowd.js';
import { FaultStage, FULL_LENGTH } from '../support/fault-stage.js';
import { pause } from '../support/load.js';
import { PASSWORD, type TestUser } from '../support/stage.js';
import { until } from '../support/until.js';

/** Of the load client: many of them fit beside the nodes. */
type LeanConnection = new (
  target: { port: number; token: string },
  listener: { onMessage(): void; onAck(): void },
) => {
  readonly isReady: boolean;
  readonly socket: { destroy(): void };
  /** @returns null, or the refusal as it came, or what became of the connection */
  open(): Promise<string | null>;
};

const CLIENTS = FULL_LENGTH ? 5_000 : 400;
const AT_ONCE = FULL_LENGTH ? 256 : 32;
const SDK_ACCOUNTS = ['alice', 'bob', 'carol', 'dave'];
const BACK_WITHIN_MS = 180_000;
const nobody = { onMessage: () => undefined, onAck: () => undefined };

interface Refusal {
  readonly code: string;
  readonly retryable: boolean;
  readonly retryAfterMs: number;
}

/** A client that comes back when and as it is told, and remembers what it was told. */
class Returning {
  readonly refusals: Refusal[] = [];
  connection: InstanceType<LeanConnection> | null = null;
  private stopped = false;

  constructor(
    private readonly user: TestUser,
    /** A connection that breaks without a word is tried again after up to this time. */
    private readonly spreadMs: number,
  ) {}

  get isReady(): boolean {
    return this.connection?.isReady ?? false;
  }

  async come(port: number): Promise<void> {
    while (!this.stopped) {
      this.connection = new Connection({ port, token: this.user.accessToken }, nobody);
      const problem = await this.connection.open();
      if (problem === null) return;
      const refusal = /^44\/im,(\{.*\})$/s.exec(problem);
      if (!refusal) {
        await pause(Math.random() * this.spreadMs);
        continue;
      }
      const { data } = JSON.parse(refusal[1]) as { data: Refusal };
      this.refusals.push(data);
      await pause(data.retryAfterMs ?? 1_000);
    }
  }

  stop(): void {
    this.stopped = true;
    this.connection?.socket.destroy();
  }
}

let faults: FaultStage;
let returning: Returning[] = [];
const clients: TridentClient[] = [];

beforeAll(async () => {
  faults = await FaultStage.open({
    HANDSHAKES_AT_ONCE: String(AT_ONCE),
    // They all come from one address here.
    LIMIT_HANDSHAKE_PER_SECOND: '100000',
    LIMIT_HANDSHAKE_BURST: '1000000',
  });
  const users = await crowd(faults.stage, 'demo', faults.tenant, CLIENTS);
  returning = users.map((user) => new Returning(user, 1_000));
}, 240_000);
afterAll(async () => {
  for (const client of returning) client.stop();
  await Promise.all(clients.map((client) => client.close()));
  await faults?.close();
}, 60_000);

async function sdkClient(account: string): Promise<TridentClient> {
  const servers = [faults.nodes[0].url, faults.nodes[1].url];
  const client = new TridentClient({ servers, transports: ['websocket'] });
  clients.push(client);
  await client.login({ enterprise: 'demo', account, password: PASSWORD });
  await client.connect();
  return client;
}

it('a node dies and all its clients come to the other one at once: all are let in, and nothing is lost that the SDK sends', async () => {
  const topic = await faults.stage.group(faults.nodes[0], faults.users[0], faults.users.slice(1));
  const [dying, living] = faults.nodes;
  await Promise.all(returning.map((client) => client.come(dying.port)));
  for (const account of SDK_ACCOUNTS) await sdkClient(account);
  const own = clients.map((client) => client.topic(topic));
  for (const client of returning) client.refusals.length = 0;

  dying.kill('SIGKILL');
  const outcomes = own.map((mine, index) => mine.sendText(`sent into the storm by ${index}`).outcome);
  await until('the connections are gone', () => returning.every((client) => !client.isReady), 30_000);
  const back = Promise.all(returning.map((client) => client.come(living.port)));
  for (let round = 0; round < 5; round += 1) {
    outcomes.push(...own.map((mine) => mine.sendText(`round ${round}`).outcome));
    await pause(200);
  }
  await until('everybody is back', () => returning.every((client) => client.isReady), BACK_WITHIN_MS);
  await back;

  // Whoever was turned away was told so, with the time to come back at, and nothing else.
  const refusals = returning.flatMap((client) => client.refusals);
  expect(refusals.filter(({ code, retryable }) => code !== 'OVERLOADED' || !retryable)).toEqual([]);
  expect(refusals.length).toBeGreaterThan(0);
  expect(Math.min(...refusals.map(({ retryAfterMs }) => retryAfterMs))).toBeGreaterThan(0);
  // The client library healed all of it by itself.
  expect((await Promise.all(outcomes)).filter(({ state }) => state !== 'sent')).toEqual([]);
  for (const mine of own) {
    await until('it has every message', () => mine.messages().length === outcomes.length, 60_000);
    const seqs = mine.messages().map(({ seq }) => seq);
    expect(seqs).toEqual([...seqs].sort((a, b) => a - b));
    expect(seqs).toEqual(own[0].messages().map(({ seq }) => seq));
  }
  expect(living.log).not.toMatch(/uncaught|unhandled/i);
}, 420_000);
