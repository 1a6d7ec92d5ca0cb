import * as mysql2 from 'mysql2';
import { asTenantId } from '../../../src/platform/ids/ids.js';
import { TenantDataSources } from '../../../src/platform/mysql/tenant-data-sources.js';
import { Stage, type RestAnswer, type TestUser } from '../../support/stage.js';

/** A group as big as they get: filled in batches, and read page by page while its members come and go. */
const SIZE = 10_000;
const BATCH = 1_000;
/** Room for those who come while the list is read. */
const MOST = SIZE + 300;
const PAGE = 200;

interface Page {
  readonly items: { readonly uid: string; readonly role: string }[];
  readonly nextCursor: string | null;
  readonly total: number;
}

interface Added {
  readonly added: string[];
  readonly memberCount: number;
}

let stage: Stage;
let tenant: string;
let nodes: Awaited<ReturnType<Stage['inProcess']>>[];
let owner: TestUser;
let admin: TestUser;
let topic: string;
/** In the group once it is full, besides its owner. */
let members: string[];
/** Never in it, or not yet. */
let others: string[];

interface Statement {
  readonly sql: string;
  readonly values: unknown[];
}

/** Statements that the nodes of this process send to the tables of groups. */
const statements: Statement[] = [];

beforeAll(async () => {
  watchStatements();
  stage = await Stage.open();
  tenant = await stage.tenant('demo', ['owner', 'admin'], { maxGroupMembers: MOST });
  nodes = [await stage.inProcess(), await stage.inProcess()];
  [owner, admin] = [await stage.login(nodes[0], 'demo', 'owner'), await stage.login(nodes[0], 'demo', 'admin')];
  const accounts = Array.from({ length: SIZE + 398 }, (_, index) => `m${index}`);
  for (let first = 0; first < accounts.length; first += 2_000) {
    await stage.addUsers('demo', accounts.slice(first, first + 2_000));
  }
  const rows = await stage.sql<{ id: string }>('demo', "SELECT id FROM im_users WHERE account LIKE 'm%' ORDER BY id");
  const uids = rows.map(({ id }) => String(id));
  members = [admin.uid, ...uids.slice(0, SIZE - 2)];
  others = uids.slice(SIZE - 2);
  topic = await stage.group(nodes[0], owner, []);
}, 90_000);
afterAll(async () => {
  jest.restoreAllMocks();
  await stage.close();
});

function watchStatements(): void {
  const { prototype } = Reflect.get(mysql2, 'PoolConnection') as { prototype: mysql2.PoolConnection };
  const query = prototype.query as (this: unknown, ...args: unknown[]) => never;
  jest.spyOn(prototype, 'query').mockImplementation(function (this: unknown, ...args: unknown[]) {
    const [first] = args;
    const { sql, values } = typeof first === 'string' ? { sql: first, values: args[1] } : (first as Statement);
    if (/im_group|im_topic_seq/.test(sql)) statements.push({ sql, values: Array.isArray(values) ? values : [] });
    return query.apply(this, args);
  });
}

const sentWith = (words: string): Statement[] => statements.filter(({ sql }) => sql.includes(words));

/** Rows and index entries that the server reads for a statement. */
function rowsRead({ sql, values }: Statement): Promise<number> {
  const databases = nodes[0].application.nest.get(TenantDataSources, { strict: false });
  return databases.run(asTenantId(tenant), (db) =>
    db.transaction(async (tx) => {
      const counted = async (): Promise<number> => {
        const rows = await tx.query<{ Value: string }[]>("SHOW SESSION STATUS LIKE 'Handler_read_next'");
        return Number(rows[0].Value);
      };
      const before = await counted();
      await tx.query(sql, values);
      return (await counted()) - before;
    }),
  );
}

const call = <T>(node: number, method: string, path: string, body?: unknown, who = owner): Promise<RestAnswer<T>> =>
  stage.call<T>(nodes[node], method, `/v1/im/groups/${topic}${path}`, { token: who.accessToken, body });

const add = (node: number, uids: readonly string[]): Promise<RestAnswer<Added>> =>
  call<Added>(node, 'POST', '/members', { uids });

async function remove(node: number, uid: string): Promise<void> {
  expect((await call(node, 'DELETE', `/members/${uid}`)).status).toBe(204);
}

async function page(node: number, cursor: string | null, query = `limit=${PAGE}`, who = owner): Promise<Page> {
  const behind = cursor === null ? '' : `&cursor=${cursor}`;
  const { status, body } = await call<Page>(node, 'GET', `/members?${query}${behind}`, undefined, who);
  expect(status).toBe(200);
  return body;
}

/** Reads the whole list, each page on the other node; `between` runs after each page. */
async function readAll(
  between: (pages: number, total: number) => Promise<unknown> = () => Promise.resolve(),
  query = `limit=${PAGE}`,
  who = owner,
): Promise<Map<string, number>> {
  const times = new Map<string, number>();
  let cursor: string | null = null;
  for (let pages = 1; ; pages += 1) {
    const { items, nextCursor, total }: Page = await page(pages % 2, cursor, query, who);
    for (const { uid } of items) times.set(uid, (times.get(uid) ?? 0) + 1);
    await between(pages, total);
    if (nextCursor === null) return times;
    cursor = nextCursor;
  }
}

async function stored(): Promise<{ rows: number; counted: number }> {
  const [row] = await stage.sql<{ n: string; counted: string }>(
    'demo',
    `SELECT (SELECT COUNT(*) FROM im_group_members WHERE group_id = g.id AND state = 'active') AS n,
            g.member_count AS counted FROM im_groups g WHERE g.id = ?`,
    [topic.slice(4)],
  );
  return { rows: Number(row.n), counted: Number(row.counted) };
}

const onceEach = (uids: readonly string[]): [string, number][] => uids.map((uid) => [uid, 1]);
const seen = (times: Map<string, number>, uids: readonly string[]): [string, number | undefined][] =>
  uids.map((uid) => [uid, times.get(uid)]);

describe('a group of 10 000 members', () => {
  it('is filled in batches of 1 000, each for the same few statements, and not past its limits', async () => {
    expect((await add(0, members.slice(0, BATCH + 1))).body.code).toBe('VALIDATION_FAILED');
    let most = 0;
    for (let first = 0; first < members.length; first += BATCH) {
      const batch = members.slice(first, first + BATCH);
      statements.length = 0;
      const { status, body } = await add((first / BATCH) % 2, batch);
      most = Math.max(most, statements.length);
      expect([status, body.added.length, body.memberCount]).toEqual([200, batch.length, first + batch.length + 1]);
    }
    expect(most).toBeGreaterThan(3);
    expect(most).toBeLessThanOrEqual(16);
    // Repeating one adds nobody; one unknown user, or one too many, and nobody of the batch is in.
    expect((await add(1, members.slice(0, BATCH))).body).toEqual({ added: [], memberCount: SIZE });
    const unknown = await add(0, [...others.slice(0, 99), '999999999']);
    expect(unknown.body).toMatchObject({ code: 'VALIDATION_FAILED', details: [{ field: 'uids[99]' }] });
    expect((await add(0, others.slice(0, MOST - SIZE + 1))).body.code).toBe('CONFLICT');
    expect(await stored()).toEqual({ rows: SIZE, counted: SIZE });
    expect((await call(0, 'PATCH', `/members/${admin.uid}`, { role: 'admin' })).status).toBe(204);
  }, 90_000);

  it('is read in full for one statement a page and one count in all, and again for the permission alone', async () => {
    statements.length = 0;
    const first = await readAll();
    const pages = Math.ceil(SIZE / PAGE);
    expect(first.size).toBe(SIZE);
    expect(sentWith('COUNT(*)')).toHaveLength(1);
    const lists = sentWith('ORDER BY m.joined_at');
    // The first page looks for owner, admins and members, the others for members.
    expect(lists.length).toBeLessThanOrEqual(pages + 2);
    expect(statements.length).toBeLessThanOrEqual(lists.length + 1 + pages);
    statements.length = 0;
    expect(await readAll(undefined, undefined, admin)).toEqual(first);
    expect(statements.length).toBe(pages);
  }, 60_000);

  it('shows those who stay exactly once while others come, go and come back, with an exact total', async () => {
    const [going, back] = [members.filter((_uid, at) => at % 250 === 7), members.filter((_uid, at) => at % 250 === 9)];
    const gone = new Set<string>();
    const came: string[] = [];
    const present = (): number => SIZE - gone.size + came.length;
    let before = present();
    const times = await readAll(async (pages, total) => {
      expect(total).toBe(before);
      const [leaver, returner, comer] = [going[pages % going.length], back[pages % back.length], others[pages]];
      if (!gone.has(leaver)) {
        await remove(0, leaver);
        gone.add(leaver);
      }
      await remove(1, returner);
      expect((await add(0, [returner, comer])).body.added).toEqual([returner, comer]);
      came.push(comer);
      before = present();
    });
    const stayed = members.filter((uid) => !going.includes(uid) && !back.includes(uid));
    expect(seen(times, stayed)).toEqual(onceEach(stayed));
    // Who comes back stands at the end of the list: there, and where he stood before if that was read already.
    for (const uid of back) expect(times.get(uid)).toBeGreaterThanOrEqual(1);
    expect(await stored()).toEqual({ rows: present(), counted: present() });
    expect((await readAll()).size).toBe(present());
  }, 90_000);

  it('is paged quickly where all joined at one moment: each page enters the index behind the one before', async () => {
    await stage.sql('demo', "UPDATE im_group_members SET joined_at = '2026-01-01 00:00:00.500' WHERE group_id = ?", [
      topic.slice(4),
    ]);
    const { rows } = await stored();
    statements.length = 0;
    const times = await readAll(undefined, 'limit=200&role=member');
    expect([...times.values()].every((count) => count === 1)).toBe(true);
    expect(times.size).toBe(rows - 2);
    const deep = sentWith('ORDER BY m.joined_at').at(-2) as Statement;
    expect(deep.values).toContainEqual(new Date('2026-01-01T00:00:00.500Z'));
    expect(await rowsRead(deep)).toBeLessThanOrEqual(PAGE + 2);
  }, 60_000);
});
