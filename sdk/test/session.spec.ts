import { TridentClient, TridentError, type ConnectionState } from '../src/index.js';
import type { FakeServer } from './support/fake-server.js';
import { fastRuntime, until } from './support/random.js';
import { connect, LOBBY, PASSWORD, signIn, startServer } from './support/start.js';

describe('the session', () => {
  let server: FakeServer;
  let client: TridentClient | undefined;

  beforeEach(async () => {
    server = await startServer();
  });
  afterEach(async () => {
    await client?.close();
    await server.stop();
  });

  it('tells a wrong password and an unknown tenant', async () => {
    client = new TridentClient({ servers: server.url });
    const login = (enterprise: string, password: string): Promise<unknown> =>
      client!.login({ enterprise, account: 'alice', password });
    await expect(login('nobody', PASSWORD)).rejects.toMatchObject({ code: 'TENANT_UNKNOWN', retryable: false });
    await expect(login('demo', 'wrong')).rejects.toMatchObject({ code: 'UNAUTHENTICATED', retryable: false });
    await expect(client.connect()).rejects.toBeInstanceOf(TridentError);
    expect(await login('demo', PASSWORD)).toMatchObject({ uid: '1', tenantId: '1' });
  });

  it('renews the token before it ends, on the open connection', async () => {
    server.rest.expiresIn = 30;
    client = await connect(server.url);
    const first = client.session?.accessToken;
    await until('a renewal', () => server.calls.some(({ event }) => event === 'session:renew'));
    const renewed = server.calls.find(({ event }) => event === 'session:renew')?.body.token;
    expect(renewed).not.toBe(first);
    expect(client.state).toBe('online');
    expect(server.calls.filter(({ event }) => event === 'topic:subscribe').length).toBeLessThan(2);
  });

  it('shares one rotation between calls, and repeats a REST call once with the new token', async () => {
    client = await signIn(server.url);
    server.rest.ended.add(client.session?.accessToken ?? '');
    const answers = await Promise.all(
      [1, 2, 3].map(() => client!.request<{ items: object[] }>('GET', '/v1/im/topics')),
    );
    expect(answers[0].items).toHaveLength(1);
    expect(server.rest.refreshes).toBe(1);
  });

  it('renews an ended token when the handshake is refused', async () => {
    client = await signIn(server.url);
    server.rest.ended.add(client.session?.accessToken ?? '');
    expect(await client.connect()).toMatchObject({ uid: '1' });
    expect(server.rest.refreshes).toBe(1);
  });

  it('waits for a rotation that is refused for a moment, and stops when it is refused for good', async () => {
    client = await signIn(server.url);
    const signedOut: string[] = [];
    client.on('signed-out', ({ error }) => signedOut.push(error.code));
    server.rest.ended.add(client.session?.accessToken ?? '');
    server.rest.unavailable = 2;
    await client.connect();
    expect(server.rest.refreshes).toBe(1);

    const { session } = client;
    const stale = new TridentClient({ servers: server.url, runtime: fastRuntime(40, 1) });
    stale.on('signed-out', ({ error }) => signedOut.push(error.code));
    stale.resume({ ...session!, refreshToken: 'used before', expiresAt: 0 });
    await expect(stale.connect()).rejects.toMatchObject({ code: 'TOKEN_USED' });
    expect(signedOut).toEqual(['TOKEN_USED']);
    expect(stale.state).toBe('closed');
  });

  it('moves to another server when told that this one drains, and loses nothing', async () => {
    const other = await startServer();
    other.topics.set(LOBBY, server.topic(LOBBY));
    try {
      client = await connect([server.url, other.url]);
      // both stand for one deployment: tokens of one are good at the other
      other.rest.uidOf = (token) => server.rest.uidOf(token);
      await until('a start', () => client!.topic(LOBBY).cursor === 0);
      server.closing({ reason: 'draining', reconnectAfterMs: 400 });
      const handle = client.topic(LOBBY).sendText('meanwhile');
      await until('the move', () => other.sockets().length === 1);
      expect(server.sockets()).toHaveLength(0);
      await handle.outcome;
      await until('it', () => client!.topic(LOBBY).messages().length === 1);
      await until('the session there', () => client!.state === 'online');
    } finally {
      await client?.close();
      await other.stop();
    }
  });

  it('does not come back after the session was revoked', async () => {
    client = await connect(server.url);
    const states: ConnectionState[] = [];
    const codes: string[] = [];
    client.on('connection', ({ state }) => states.push(state));
    client.on('signed-out', ({ error }) => codes.push(error.code));
    server.closing({ reason: 'revoked', reconnectAfterMs: 0 });
    await until('the end', () => states.includes('closed'));
    expect(codes).toEqual(['UNAUTHENTICATED']);
    await expect(client.call('session:heartbeat', {})).rejects.toMatchObject({ code: 'DISCONNECTED' });
  });

  it('connects when the server comes up later, and again when it was away', async () => {
    await server.stop();
    const { port } = server;
    client = new TridentClient({ servers: server.url, runtime: fastRuntime(40, 5) });
    client.resume({ tenantId: '1', uid: '1', accessToken: 'access-1-7', refreshToken: 'r', expiresAt: Infinity });
    const connected = client.connect();
    await until('a failed attempt', () => client!.state === 'waiting');
    await server.start();
    await connected;
    await server.stop();
    await until('the loss', () => client!.state !== 'online');
    await server.start();
    expect(server.port).toBe(port);
    await until('the return', () => client!.state === 'online');
  });
});
