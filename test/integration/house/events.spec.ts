import { ERROR_TABLE } from '../../../src/platform/errors/error-table.js';
import { SocketRouter } from '../../../src/platform/socket/socket-router.js';
import { readText } from '../../unit/house/sources.js';
import type { Ack, TestClient } from '../../support/client.js';
import { Stage, type TestNode, type TestUser } from '../../support/stage.js';
import { GARBAGE } from './garbage.js';
import { strayErrors } from './metrics.js';

const ACK = 3;

interface Packet {
  readonly type: number;
  readonly id?: number;
}

/** Counts acknowledgements as they come in: the client library would drop a second one in silence. */
function countAcks(client: TestClient): Map<number, number> {
  const counts = new Map<number, number>();
  const { decoder } = client.socket.io as unknown as { decoder: NodeJS.EventEmitter };
  decoder.on('decoded', ({ type, id }: Packet) => {
    if (type === ACK && id !== undefined) counts.set(id, (counts.get(id) ?? 0) + 1);
  });
  return counts;
}

describe('client events', () => {
  let stage: Stage;
  let node: TestNode;
  let alice: TestUser;
  let events: string[];

  beforeAll(async () => {
    stage = await Stage.open();
    await stage.tenant('acme', ['alice']);
    const started = await stage.inProcess();
    node = started;
    events = started.application.nest.get(SocketRouter).events;
    alice = await stage.login(node, 'acme', 'alice');
  });
  afterAll(() => stage.close());

  it('are those of docs/protocol.md', () => {
    const page = readText('docs/protocol.md').split('### Client to server')[1].split('### Server to client')[0];
    const documented = [...page.matchAll(/^\| `([a-z:]+)` \|/gm)].map(([, event]) => event);
    expect([...events].sort()).toEqual(documented.sort());
  });

  it('answer every kind of garbage exactly once, with a code, and never with INTERNAL', async () => {
    const client = await stage.connect(node, alice);
    const acks = countAcks(client);
    const wrong: string[] = [];
    let sent = 0;
    for (const event of [...events, 'no:such:event', 'constructor', 'message']) {
      for (const { what, args } of GARBAGE) {
        const ack = await client.emit(event, ...args);
        sent += 1;
        if (!isRefusal(ack)) wrong.push(`${event} with ${what}: ${JSON.stringify(ack)}`);
      }
    }
    expect(wrong).toEqual([]);
    expect(acks.size).toBe(sent);
    expect([...acks.values()].every((count) => count === 1)).toBe(true);
    expect(client.socket.connected).toBe(true);
  }, 120_000);

  it('answer a missing payload: with what is missing, or as an empty one', async () => {
    const client = await stage.connect(node, alice);
    for (const event of events) {
      const ack = await client.emit(event);
      if (event === 'session:heartbeat') expect(ack.ok).toBe(true);
      else expect(ack).toMatchObject({ ok: false, error: { code: 'VALIDATION_FAILED' } });
    }
  });

  it('survive what asks for no answer', async () => {
    const client = await stage.connect(node, alice);
    for (const event of [...events, 'no:such:event']) {
      client.socket.emit(event);
      for (const { args } of GARBAGE) client.socket.emit(event, ...args);
    }
    expect(await client.emit('session:heartbeat', {})).toMatchObject({ ok: true });
  });

  it('too large for an event says so, whatever the event', async () => {
    const client = await stage.connect(node, alice);
    for (const event of events) {
      const ack = await client.emit(event, { topic: 'x'.repeat(70 * 1024) });
      expect(ack.error?.code).toBe('PAYLOAD_TOO_LARGE');
    }
  });

  it('unknown ones are told so', async () => {
    const client = await stage.connect(node, alice);
    for (const event of ['no:such:event', '__proto__', 'toString', 'connection', '']) {
      expect((await client.emit(event, {})).error?.code).toBe('UNKNOWN_EVENT');
    }
  });

  it('left nothing unhandled behind', async () => {
    expect(await strayErrors(node)).toBe(0);
  });
});

function isRefusal(ack: Ack): boolean {
  const code = ack?.error?.code;
  return ack?.ok === false && code !== undefined && code in ERROR_TABLE && code !== 'INTERNAL';
}
