import { TridentClient, type TridentOptions } from '../../src/index.js';
import { FakeServer } from './fake-server.js';
import { fastRuntime } from './random.js';

export const PASSWORD = 'demo-pass-1';
export const LOBBY = 'grp_1';

export const startServer = async (): Promise<FakeServer> => {
  const server = new FakeServer();
  server.rest.users = ['alice', 'bob'].map((account, i) => ({ uid: String(i + 1), account, password: PASSWORD }));
  server.rest.topics = [LOBBY];
  server.topic(LOBBY);
  await server.start();
  return server;
};

/** A client that is logged in but not connected; its time runs 40 times as fast. */
export const signIn = async (
  servers: string | string[],
  account: 'alice' | 'bob' = 'alice',
  options: Partial<TridentOptions> = {},
): Promise<TridentClient> => {
  // 1.5 s of real time for an answer, for machines that are busy
  const runtime = fastRuntime(40, account.length);
  const client = new TridentClient({ servers, runtime, requestTimeoutMs: 60_000, ...options });
  await client.login({ enterprise: 'demo', account, password: PASSWORD });
  return client;
};

export const connect = async (...args: Parameters<typeof signIn>): Promise<TridentClient> => {
  const client = await signIn(...args);
  await client.connect();
  return client;
};
