import { TridentClient } from '../../sdk/src/index.js';
import { FlakyProxy } from '../support/flaky-proxy.js';
import type { NodeProcess } from '../support/nodes.js';
import { PresenceRig } from '../support/presence.js';
import { PASSWORD, Stage } from '../support/stage.js';
import { until } from '../support/until.js';

let stage: Stage;
let rig: PresenceRig;
let nodes: NodeProcess[];
const clients: TridentClient[] = [];
let proxies: FlakyProxy[] = [];

beforeAll(async () => {
  stage = await Stage.open();
  rig = await PresenceRig.open(stage, await stage.tenant('demo', ['alice', 'bob']));
  nodes = await Promise.all([stage.process(), stage.process()]);
}, 90_000);
afterAll(async () => {
  await Promise.all(clients.map((client) => client.close()));
  await Promise.all(proxies.map((proxy) => proxy.close()));
  rig.close();
  await stage.close();
});

async function client(account: string, url: string): Promise<TridentClient> {
  const sdk = new TridentClient({ servers: [url], transports: ['websocket'] });
  clients.push(sdk);
  await sdk.login({ enterprise: 'demo', account, password: PASSWORD });
  await sdk.connect();
  return sdk;
}

describe('presence with the client library', () => {
  it('is watched over the breaks of both connections: no flicker, nothing missed; and typing is heard', async () => {
    const [alice, bob] = await Promise.all(['alice', 'bob'].map((name) => stage.login(nodes[0], 'demo', name)));
    const topic = await stage.group(nodes[0], alice, [bob]);
    proxies = await Promise.all(nodes.map(({ port }) => FlakyProxy.to(port)));
    const [first, second] = proxies;
    const watcher = await client('alice', first.url);
    const told: string[] = [];
    const typing: string[] = [];
    watcher.on('presence:changed', (presence) => presence.uid === bob.uid && told.push(presence.state));
    watcher.on('topic:typing', (event) => typing.push(event.uid));
    expect(await watcher.watchPresence([bob.uid])).toMatchObject([{ uid: bob.uid, state: 'offline' }]);

    const other = await client('bob', second.url);
    await until('he is told online', () => told.at(-1) === 'online', 20_000);
    other.topic(topic).typing();
    await until('typing is heard', () => typing.includes(bob.uid));
    for (let round = 0; round < 3; round += 1) {
      const sessions = await rig.sessions(bob.uid);
      second.cut();
      await until('he is back', async () => (await rig.sessions(bob.uid)).some((id) => !sessions.includes(id)), 20_000);
    }
    expect(told).not.toContain('offline');
    // The watcher is away when the other one goes, and learns it when it is back.
    first.cut();
    await other.close();
    await until('his end is told', () => told.at(-1) === 'offline', 30_000);
  }, 90_000);
});
