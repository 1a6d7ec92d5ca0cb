import { Stage, type TestUser } from '../support/stage.js';
import { until } from '../support/until.js';
import { Wire } from '../support/wire.js';

/** No call may take longer while the database is silent: the statement, a place in the pool, and a slow machine. */
const BOUND_MS = 12_000;
const after = <T>(ms: number, value: T): Promise<T> =>
  new Promise((resolve) => setTimeout(() => resolve(value), ms).unref());

let stage: Stage;
let users: TestUser[];
let topic: string;

beforeAll(async () => {
  stage = await Stage.open();
  await stage.tenant('demo', ['alice', 'bob']);
  const node = await stage.inProcess();
  users = await Promise.all(['alice', 'bob'].map((account) => stage.login(node, 'demo', account)));
  topic = await stage.group(node, users[0], [users[1]]);
}, 60_000);
afterAll(() => stage.close());

it('B74: a server that answers nothing any more: every call ends, retryable, and all is well when it is back', async () => {
  const url = new URL(stage.environment.MYSQL_URL);
  const wire = await Wire.open(Number(url.port));
  url.port = String(wire.port);
  const node = await stage.process({
    MYSQL_URL: url.href,
    MYSQL_STATEMENT_TIMEOUT_MS: '1000',
  });
  const [client, token] = [await stage.connect(node, users[0]), users[0].accessToken];
  const paths = [
    'users/me',
    `users/${users[1].uid}`,
    'topics',
    ...['', '/settings', '/members'].map((tail) => `groups/${topic}${tail}`),
  ];
  const answered = async (path: string): Promise<string> => {
    const answer = stage.call(node, 'GET', `/v1/im/${path}`, { token }).then(({ status }) => `${path} ${status}`);
    return Promise.race([answer, after(BOUND_MS, `${path} is not answered`)]);
  };
  const calls = (): Promise<string[]> => Promise.all(paths.map(answered));
  const well = paths.map((path) => `${path} 200`);
  expect(await calls()).toEqual(well);
  const stalled = wire.stallAt(['SELECT', 'INSERT', 'START']);
  // More calls than the pool has connections, so that some wait for one.
  const pending = Promise.all([1, 2, 3, 4].map(() => calls()));
  await stalled;
  const page = client.history(topic, { limit: 1 });
  const sent = client.send(topic, 'stalled', 'x');
  const answers = (await pending).flat();
  expect(answers.filter((answer) => !/ (503|200)$/.test(answer))).toEqual([]);
  expect(answers.some((answer) => answer.endsWith(' 503'))).toBe(true);
  expect(await page).toMatchObject({ ok: false, error: { retryable: true } });
  expect(await sent).toMatchObject({ ok: false, error: { retryable: true } });
  wire.restore();
  await until('all is well again', async () => (await calls()).join() === well.join(), 10_000);
  await until('the same send succeeds', async () => (await client.send(topic, 'stalled', 'x')).ok);
  await wire.close();
}, 60_000);
