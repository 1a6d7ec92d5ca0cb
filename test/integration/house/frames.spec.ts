import type { NodeProcess } from '../../support/nodes.js';
import type { TestClient } from '../../support/client.js';
import { Stage, type TestUser } from '../../support/stage.js';
import { strayErrors } from './metrics.js';
import { RawSocket } from './raw-socket.js';

type Attack = readonly [what: string, act: (raw: RawSocket) => void, expected?: 'answers' | 'closed'];

const say =
  (...packets: string[]) =>
  (raw: RawSocket): void =>
    packets.forEach((packet) => raw.text(packet));

const binaryEvent =
  (num: string) =>
  (raw: RawSocket): void => {
    raw.text(`451-/im,7["message:send",{"_placeholder":true,"num":${num}}]`);
    raw.binary(Buffer.from('attachment'));
  };

const EVENT_NAMES = [
  '"disconnect"',
  '"disconnecting"',
  '"error"',
  '"connect"',
  '"connect_error"',
  '"newListener"',
  '"removeListener"',
  '"__proto__"',
  '"constructor"',
  '""',
  '5',
  'null',
  'true',
  '{}',
  '[]',
];

const ATTACKS: readonly Attack[] = [
  // Socket.IO packets.
  ['an error packet', say('44/im,{"message":"x"}')],
  ['an ack for an id that nobody waits for', say('43/im,999[]'), 'answers'],
  ['an ack without an id', say('43/im,[]')],
  ['a second connect', say('40/im,{}')],
  ['a binary event that claims a million attachments', say('451000000-/im,7["message:send",{}]')],
  ['a binary event that claims 2^60 attachments', say('451152921504606846976-/im,7["message:send",{}]')],
  ['a binary ack that claims attachments', say('461-/im,7[{"_placeholder":true,"num":0}]')],
  ['a placeholder of number "x"', binaryEvent('"x"')],
  ['a placeholder of number -1', binaryEvent('-1')],
  ['a placeholder of number 5', binaryEvent('5')],
  ['a placeholder of number "__proto__"', binaryEvent('"__proto__"')],
  ['an attachment that nobody announced', (raw) => raw.binary(Buffer.alloc(100))],
  ...EVENT_NAMES.map((name): Attack => [`the event name ${name}`, say(`42/im,7[${name},{}]`)]),
  ['an event that is no array', say('42/im,7{"a":1}')],
  ['an event without a name', say('42/im,7[]')],
  ['a callback id of 2^60', say('42/im,1152921504606846976["session:heartbeat",{}]')],
  ['a callback id of 30 digits', say(`42/im,${'9'.repeat(30)}["session:heartbeat",{}]`)],
  ['a negative callback id', say('42/im,-1["session:heartbeat",{}]')],
  ['broken JSON', say('42/im,7["session:heartbeat",{')],
  ['JSON of 10 000 levels', say(`42/im,7["session:heartbeat",${'['.repeat(10_000)}${']'.repeat(10_000)}]`)],
  ['a poisoned payload', say('42/im,7["message:send",{"__proto__":{"polluted":true}}]'), 'answers'],
  ['an unknown namespace', say('40/other,{}')],
  ['an event in a namespace that was not joined', say('42/other,7["session:heartbeat",{}]')],
  ['the default namespace', say('40{}')],
  ['a namespace of 30 000 characters', say(`40/${'n'.repeat(30_000)},{}`)],
  ['an unknown packet type', say('49/im,')],
  ['an empty message', say('4')],
  ['a letter', say('4abc')],
  // Engine.IO packets.
  ['an unknown transport packet', say('9')],
  ['an upgrade that was not asked for', say('5')],
  ['a noop', say('6'), 'answers'],
  ['a ping of the client', say('2probe')],
  ['a hundred pongs', say(...Array.from({ length: 100 }, () => '3'))],
  ['a close', say('1')],
  ['an empty frame', (raw) => raw.frame(1, Buffer.alloc(0))],
  // WebSocket frames.
  ['2 MiB in one frame', (raw) => raw.text(`4${'x'.repeat(2 * 1024 * 1024)}`), 'closed'],
  ['a frame that claims 2^62 bytes', (raw) => raw.frame(1, Buffer.from('42'), 2n ** 62n), 'closed'],
  ['a frame without a mask', (raw) => raw.bytes(Buffer.from([0x81, 0x02, 0x34, 0x32])), 'closed'],
  ['an opcode that does not exist', (raw) => raw.frame(7, Buffer.from('42')), 'closed'],
  ['text that is not UTF-8', (raw) => raw.frame(1, Buffer.from([0x34, 0xff, 0xfe])), 'closed'],
  ['a continuation of nothing', (raw) => raw.frame(0, Buffer.from('42')), 'closed'],
  ['an HTTP request', (raw) => raw.bytes(Buffer.from('GET / HTTP/1.1\r\n\r\n'))],
];

describe('raw frames', () => {
  let stage: Stage;
  let node: NodeProcess;
  let alice: TestUser;
  let bystander: TestClient;

  beforeAll(async () => {
    stage = await Stage.open();
    await stage.tenant('acme', ['alice', 'bob']);
    // A process of its own: what ends it must not end the test.
    node = await stage.process();
    alice = await stage.login(node, 'acme', 'alice');
    bystander = await stage.connect(node, await stage.login(node, 'acme', 'bob'));
  });
  afterAll(() => stage.close());

  const attacks = ATTACKS.map(([what, act, expected]) => ({ what, act, expected }));
  it.each(attacks)('$what harms at most its own socket', async ({ act, expected }) => {
    const raw = await RawSocket.open(node.url);
    try {
      await raw.join(alice.accessToken);
      act(raw);
      const end = await raw.settled();
      if (expected) expect(end).toBe(expected);
      expect(raw.packets.filter((packet) => packet.includes('INTERNAL'))).toEqual([]);
    } finally {
      raw.destroy();
    }
    expect(node.running).toBe(true);
    expect(bystander.socket.connected).toBe(true);
    expect(await bystander.emit('session:heartbeat', {})).toMatchObject({ ok: true });
  });

  it.each([
    ['half a frame', (raw: RawSocket) => raw.frame(1, Buffer.from('42/im,7["session'), 5_000)],
    ['half a header', (raw: RawSocket) => raw.bytes(Buffer.from([0x81]))],
    ['a binary event without its attachment', (raw: RawSocket) => raw.text('451-/im,7["message:send",{}]')],
    ['nothing', () => undefined],
  ])('%s and then a cut cable harm nobody', async (_what, act) => {
    const raw = await RawSocket.open(node.url);
    await raw.join(alice.accessToken);
    act(raw);
    raw.destroy();
    expect(await bystander.emit('session:heartbeat', {})).toMatchObject({ ok: true });
    expect(node.running).toBe(true);
  });

  it.each(['[1]', '5', 'null', '"token"', '{"token":{}}', '{"token":["a"]}', '{"token":"a.b.c"}', '{"__proto__":{}}'])(
    'a handshake with %s is refused with a code',
    async (auth) => {
      const raw = await RawSocket.open(node.url);
      try {
        raw.text(`40/im,${auth}`);
        await raw.settled();
        const refusal = raw.packets.find((packet) => packet.startsWith('44/im,'));
        // Socket.IO itself turns away what is no object, and closes.
        if (refusal) expect(refusal).toMatch(/"code":"(UNAUTHENTICATED|VALIDATION_FAILED)"/);
        else expect(raw.closed).toBe(true);
      } finally {
        raw.destroy();
      }
    },
  );

  it('left nothing unhandled behind', async () => {
    expect(await strayErrors(node)).toBe(0);
    expect(node.log).not.toMatch(/uncaught|unhandled/i);
  });
});
