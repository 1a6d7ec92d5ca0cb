import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync, mkdtempSync, symlinkSync, mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TridentClient } from '../../sdk/src/index.js';
import { FlakyProxy } from '../support/flaky-proxy.js';
import type { NodeProcess } from '../support/nodes.js';
import { PASSWORD, Stage, type TestUser } from '../support/stage.js';
import { until } from '../support/until.js';

const ROOT = join(__dirname, '..', '..');

let stage: Stage;
let one: NodeProcess;
let two: NodeProcess;
let users: TestUser[];
let topic: string;
const clients: TridentClient[] = [];

beforeAll(async () => {
  stage = await Stage.open();
  await stage.tenant('demo', ['alice', 'bob', 'carol']);
  [one, two] = await Promise.all([stage.process(), stage.process()]);
  users = await Promise.all(['alice', 'bob', 'carol'].map((name) => stage.login(one, 'demo', name)));
  topic = await stage.group(one, users[0], users.slice(1), 'Lobby');
}, 90_000);
afterAll(async () => {
  await Promise.all(clients.map((client) => client.close()));
  await stage.close();
});

async function client(account: string, first: { url: string }, second: { url: string }): Promise<TridentClient> {
  const sdk = new TridentClient({ servers: [first.url, second.url], transports: ['websocket'] });
  clients.push(sdk);
  await sdk.login({ enterprise: 'demo', account, password: PASSWORD });
  await sdk.connect();
  return sdk;
}

describe('the client library with real nodes', () => {
  it('ends with the same messages in the same order on every device while connections break all the time', async () => {
    const proxies = await Promise.all([FlakyProxy.to(one.port), FlakyProxy.to(two.port)]);
    const [first, second] = proxies;
    const devices = [
      await client('alice', first, second),
      await client('bob', second, first),
      await client('carol', first, second),
    ];
    const ordered = devices.map(() => [] as number[]);
    devices.forEach((device, index) =>
      device.on('ordered', (event) => event.topic === topic && ordered[index].push(event.message.seq)),
    );
    const topics = devices.map((device) => device.topic(topic));
    let flapping = true;
    const flap = (async () => {
      while (flapping) {
        await new Promise((resolve) => setTimeout(resolve, 200 + Math.random() * 200));
        proxies[Math.floor(Math.random() * proxies.length)].cut();
      }
    })();
    const outcomes = [];
    for (let round = 0; round < 40; round += 1) {
      for (const own of topics) outcomes.push(own.sendText(`round ${round}`).outcome);
      if (round === 10) two.kill('SIGKILL');
      if (round === 20) await two.start();
      await new Promise((resolve) => setTimeout(resolve, 40));
    }
    const results = await Promise.all(outcomes);
    flapping = false;
    await flap;
    expect(results.filter((result) => result.state !== 'sent')).toEqual([]);
    const rows = await stage.sql<{ seqid: string }>(
      'demo',
      "SELECT seqid FROM im_group_messages WHERE topic = ? AND status <> 'void' ORDER BY seqid",
      [topic],
    );
    expect(rows).toHaveLength(120);
    const stored = rows.map((row) => Number(row.seqid));
    for (const [index, own] of topics.entries()) {
      await until(
        `device ${index} has everything (it has ${own.messages().length})`,
        () => own.messages().length === 120,
        40_000,
      );
      expect(own.messages().map((message) => message.seq)).toEqual(stored);
      await until('and told it in order', () => ordered[index].length >= 120 - 5, 20_000);
      expect(ordered[index]).toEqual([...ordered[index]].sort((x, y) => x - y));
      expect(new Set(ordered[index]).size).toBe(ordered[index].length);
    }
    await Promise.all(devices.map((device) => device.close()));
    await Promise.all(proxies.map((proxy) => proxy.close()));
  }, 120_000);

  it('talks in a private chat as in a group: both sides begin at once, over connections that break', async () => {
    const proxies = await Promise.all([FlakyProxy.to(one.port), FlakyProxy.to(two.port)]);
    const devices = [await client('bob', proxies[0], proxies[1]), await client('carol', proxies[1], proxies[0])];
    const ids = [users[1], users[2]].map(({ uid }) => BigInt(uid)).sort((x, y) => (x < y ? -1 : 1));
    const chats = devices.map((device) => device.topic(`p2p_${ids.join('_')}`));
    const outcomes = [];
    for (let round = 0; round < 20; round += 1) {
      for (const chat of chats) outcomes.push(chat.sendText(`round ${round}`).outcome);
      if (round % 6 === 5) proxies[round % 2].cut();
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    expect((await Promise.all(outcomes)).filter((result) => result.state !== 'sent')).toEqual([]);
    for (const chat of chats) {
      await until('it has everything', () => chat.messages().length === 40, 30_000);
      expect(chat.messages().map((message) => message.seq)).toEqual(Array.from({ length: 40 }, (_, i) => i + 1));
    }
    await Promise.all(devices.map((device) => device.close()));
    await Promise.all(proxies.map((proxy) => proxy.close()));
  }, 90_000);

  it('learns of edits and recalls that were made while it was away', async () => {
    const [a, b] = [await client('alice', one, two), await client('bob', two, one)];
    const [own, other] = [a.topic(topic), b.topic(topic)];
    const first = await own.sendText('will be recalled').outcome;
    const second = await own.sendText('will be edited').outcome;
    expect([first.state, second.state]).toEqual(['sent', 'sent']);
    await until('bob has both', () =>
      other
        .messages()
        .some((message) => message.content && 'text' in message.content && message.content.text === 'will be edited'),
    );
    const [recalled, edited] = own.messages().slice(-2);
    const session = b.session!;
    await b.close();
    await own.recall(recalled.seq);
    await own.edit(edited.seq, { text: 'was edited' });
    const again = new TridentClient({ servers: [two.url], transports: ['websocket'] });
    clients.push(again);
    again.resume(session);
    await again.connect();
    const topicAgain = again.topic(topic);
    await until(
      'the newest page is there',
      () => topicAgain.messages().some((message) => message.seq === edited.seq),
      20_000,
    );
    const find = (seq: number) => topicAgain.messages().find((message) => message.seq === seq);
    expect(find(recalled.seq)).toMatchObject({ status: 'recalled', content: null });
    expect(find(edited.seq)).toMatchObject({ version: 2, content: { text: 'was edited' } });
  }, 60_000);
});

describe('the example of the README', () => {
  it('runs as printed', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'chat-'));
    let chat: ChildProcess | undefined;
    try {
      execFileSync(process.execPath, ['sdk/build.js'], { cwd: ROOT });
      const readme = readFileSync(join(ROOT, 'sdk', 'README.md'), 'utf8');
      const code = [...readme.matchAll(/```js\n([\s\S]*?)```/g)]
        .map((match) => match[1])
        .find((text) => text.includes('createInterface'))!;
      const printed = "['http://127.0.0.1:3000', 'http://127.0.0.1:3001']";
      expect(code).toContain(printed);
      writeFileSync(join(folder, 'chat.mjs'), code.replace(printed, JSON.stringify([one.url, two.url])));
      mkdirSync(join(folder, 'node_modules'));
      symlinkSync(join(ROOT, 'sdk'), join(folder, 'node_modules', 'trident-im-client'));
      symlinkSync(join(ROOT, 'node_modules', 'socket.io-client'), join(folder, 'node_modules', 'socket.io-client'));
      chat = spawn(process.execPath, ['chat.mjs', 'bob'], { cwd: folder, stdio: ['pipe', 'pipe', 'inherit'] });
      let output = '';
      chat.stdout!.on('data', (chunk: Buffer) => (output += String(chunk)));
      await until(`it is in: ${output}`, () => output.includes('you are bob'), 20_000);
      chat.stdin!.write('hello from the example\n');
      await until('it shows its own message', () => /me: hello from the example/.test(output), 20_000);
      chat.stdin!.write('\n');
      await until('it ends', () => chat!.exitCode === 0, 20_000);
    } finally {
      chat?.kill('SIGKILL');
      rmSync(folder, { recursive: true, force: true });
    }
  }, 90_000);
});
