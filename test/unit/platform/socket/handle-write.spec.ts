import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { HandleWriter, waitingBytes, type TcpStream } from '../../../../src/platform/socket/handle-write.js';
import { until } from '../../../support/until.js';

let server: Server;
const open: Socket[] = [];

beforeAll(async () => {
  server = createServer({ noDelay: true }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
});
afterAll(async () => {
  for (const socket of open) socket.destroy();
  await new Promise((resolve) => server.close(resolve));
});

async function pair(): Promise<{ near: Socket & TcpStream; far: Socket; came: () => Buffer }> {
  const accepted = new Promise<Socket>((resolve) => server.once('connection', resolve));
  const far = connect((server.address() as AddressInfo).port, '127.0.0.1');
  const near = (await accepted) as Socket & TcpStream;
  open.push(near, far);
  near.on('error', () => undefined);
  far.on('error', () => undefined);
  const parts: Buffer[] = [];
  far.on('data', (part) => parts.push(part));
  return { near, far, came: () => Buffer.concat(parts) };
}

/** A writer that has learnt how: its first write is a stream's own. */
async function learnt(): Promise<HandleWriter> {
  const writer = new HandleWriter();
  const { near, came } = await pair();
  writer.write(near, Buffer.from('first'));
  await until('the first write has come', () => came().toString() === 'first');
  return writer;
}

it('writes to many sockets, and between a stream and its handle nothing overtakes', async () => {
  const writer = await learnt();
  const pairs = [await pair(), await pair(), await pair()];
  for (const { near } of pairs) {
    writer.write(near, Buffer.from('a'));
    near.write('b');
    writer.write(near, Buffer.from('c'));
    expect(waitingBytes(near)).toBe(0);
  }
  await until('all has come', () => pairs.every(({ came }) => came().toString() === 'abc'));
});

it('what a reader does not take is counted as waiting, and comes whole when it reads on', async () => {
  const writer = await learnt();
  const { near, far, came } = await pair();
  far.pause();
  const data = Buffer.alloc(16 * 1024 * 1024, 'x');
  writer.write(near, data);
  expect(waitingBytes(near)).toBeGreaterThan(1024 * 1024);
  // A second one, whose request must not be the one that is under way.
  const other = await pair();
  writer.write(other.near, Buffer.from('other'));
  near.write('end');
  far.resume();
  await until('the others are served meanwhile', () => other.came().toString() === 'other');
  await until('all has come', () => came().length === data.length + 3, 20_000);
  expect(came().subarray(-4).toString()).toBe('xend');
  await until('nothing waits any more', () => waitingBytes(near) === 0);
});

it('a connection that broke is closed by the write that finds it broken', async () => {
  const writer = await learnt();
  const { near, far } = await pair();
  far.resetAndDestroy();
  await until('the write fails', () => {
    if (!near.destroyed) writer.write(near, Buffer.from('x'));
    return near.destroyed;
  });
  // Gone streams have no handle; that is no fault.
  writer.write(near, Buffer.from('x'));
});
