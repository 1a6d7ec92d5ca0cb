import { Stage, type RestAnswer, type TestNode, type TestUser } from '../../support/stage.js';

/** B44: lists whose rows share one moment, page by page. B46: a member list and its count while all at once change it. */
const AT = new Date('2026-01-01T00:00:00.500Z');
const TIED = 25;

interface Item {
  readonly uid?: string;
  readonly from?: string;
  readonly to?: string;
  readonly role?: string;
}

interface Page {
  readonly items: Item[];
  readonly nextCursor: string | null;
  readonly total?: number;
}

let stage: Stage;
let nodes: TestNode[];
let owner: TestUser;
/** Of another tenant, with the same uid and the same lists. */
let rival: TestUser;
let others: string[];
let topic: string;

const names = (count: number): string[] => Array.from({ length: count }, (_, index) => `u${index}`);

async function uidsOf(code: string): Promise<string[]> {
  const rows = await stage.sql<{ id: string }>(code, "SELECT id FROM im_users WHERE account LIKE 'u%' ORDER BY id");
  return rows.map(({ id }) => String(id));
}

beforeAll(async () => {
  stage = await Stage.open();
  for (const code of ['demo', 'rival']) await stage.tenant(code, ['owner', 'admin', 'plain', ...names(60)]);
  nodes = [await stage.inProcess(), await stage.inProcess()];
  [owner, rival] = await Promise.all(['demo', 'rival'].map((code) => stage.login(nodes[0], code, 'owner')));
  expect(rival.uid).toBe(owner.uid);
  others = await uidsOf('demo');
  topic = await stage.group(nodes[0], owner, []);
  expect(await stage.group(nodes[0], rival, [])).toBe(topic);
}, 60_000);
afterAll(() => stage.close());

const get = (path: string, user = owner, node = 0): Promise<RestAnswer<Page>> =>
  stage.call<Page>(nodes[node], 'GET', `/v1/im/${path}`, { token: user.accessToken });

interface List {
  readonly name: string;
  readonly path: () => string;
  readonly table: string;
  readonly columns: string;
  /** A row with one of the others. */
  readonly row: (uid: string) => unknown[];
  /** The column that holds the other one. */
  readonly key: string;
  readonly uidOf: (item: Item) => string | undefined;
}

const byUid = ({ uid }: Item): string | undefined => uid;
const groupId = (): string => topic.slice(4);

const lists: List[] = [
  ...(
    [
      ['friends', 'im_friends', 'friend_uid'],
      ['blocklist', 'im_blocks', 'blocked_uid'],
      ['following', 'im_follows', 'followed_uid'],
    ] as const
  ).map(([name, table, key]) => ({
    name,
    path: () => `relations/${name}?`,
    table,
    columns: `uid, ${key}, created_at`,
    row: (uid: string) => [owner.uid, uid, AT],
    key,
    uidOf: byUid,
  })),
  {
    name: 'requests to be friends, received',
    path: () => 'relations/friend-requests?direction=incoming&',
    table: 'im_friend_requests',
    columns: 'from_uid, to_uid, created_at',
    row: (uid) => [uid, owner.uid, AT],
    key: 'from_uid',
    uidOf: ({ from }) => from,
  },
  {
    name: 'requests to be friends, sent',
    path: () => 'relations/friend-requests?direction=outgoing&',
    table: 'im_friend_requests',
    columns: 'from_uid, to_uid, created_at',
    row: (uid) => [owner.uid, uid, AT],
    key: 'to_uid',
    uidOf: ({ to }) => to,
  },
  {
    name: 'bans',
    path: () => `groups/${topic}/bans?`,
    table: 'im_group_bans',
    columns: 'group_id, uid, created_by, created_at',
    row: (uid) => [groupId(), uid, owner.uid, AT],
    key: 'uid',
    uidOf: byUid,
  },
  {
    name: 'requests to join',
    path: () => `groups/${topic}/join-requests?`,
    table: 'im_group_join_requests',
    columns: 'group_id, uid, created_at',
    row: (uid) => [groupId(), uid, AT],
    key: 'uid',
    uidOf: byUid,
  },
  {
    name: 'members',
    path: () => `groups/${topic}/members?role=member&`,
    table: 'im_group_members',
    columns: 'group_id, uid, joined_at',
    row: (uid) => [groupId(), uid, AT],
    key: 'uid',
    uidOf: byUid,
  },
];

const insert = ({ table, columns, row }: List, uids: readonly string[], code = 'demo'): Promise<unknown> =>
  stage.sql(code, `INSERT INTO ${table} (${columns}) VALUES ?`, [uids.map(row)]);

/** As a change does: pages of the member list are not read under an old version any more. */
async function remove({ table, key }: List, uid: string): Promise<void> {
  await stage.sql('demo', `DELETE FROM ${table} WHERE ${key} = ?`, [uid]);
  await stage.sql('demo', 'UPDATE im_topic_seq SET acl_version = acl_version + 1 WHERE topic = ?', [topic]);
}

describe('rows of one moment', () => {
  it.each(lists)(
    'of the list of $name are each shown once, whatever happens on pages that were read',
    async (list) => {
      const [tied, more] = [others.slice(0, TIED), others.slice(TIED, TIED + 10)];
      await insert(list, tied);
      const times = new Map<string, number>();
      const gone: string[] = [];
      let cursor: string | null = null;
      for (let pages = 1; ; pages += 1) {
        const behind: string = cursor === null ? '' : `&cursor=${cursor}`;
        const { status, body }: RestAnswer<Page> = await get(`${list.path()}limit=10${behind}`, owner, pages % 2);
        expect(status).toBe(200);
        for (const item of body.items)
          times.set(list.uidOf(item) as string, (times.get(list.uidOf(item) as string) ?? 0) + 1);
        if (body.nextCursor === null) break;
        cursor = body.nextCursor;
        gone.push(list.uidOf(body.items[4]) as string);
        await remove(list, gone.at(-1) as string);
        await insert(list, [more[pages]]);
      }
      expect(gone).toHaveLength(2);
      const stayed = tied.filter((uid) => !gone.includes(uid));
      expect(stayed.map((uid) => [uid, times.get(uid)])).toEqual(stayed.map((uid) => [uid, 1]));
      for (const uid of [...tied, ...more]) await remove(list, uid);
    },
    90_000,
  );

  it('have cursors that are good for their own list alone', async () => {
    for (const list of lists) {
      for (const code of ['demo', 'rival']) await insert(list, others.slice(0, 12), code);
    }
    const cursors = new Map<string, string>();
    for (const list of lists) {
      const { body } = await get(`${list.path()}limit=5`);
      cursors.set(list.name, body.nextCursor as string);
    }
    for (const list of lists) {
      const own = cursors.get(list.name) as string;
      expect((await get(`${list.path()}limit=5&cursor=${own}`)).body.items).toHaveLength(5);
      const foreign = lists.filter(({ name }) => name !== list.name).map(({ name }) => cursors.get(name) as string);
      const changed = [`${own.slice(0, -3)}AAA`, own.slice(1), `${own}A`, own.toLowerCase(), 'x', '0', '1', "' OR 1=1"];
      for (const bad of [...foreign, ...changed]) {
        const { status, body } = await get(`${list.path()}limit=5&cursor=${encodeURIComponent(bad)}`);
        expect([list.name, bad, status, body.code]).toEqual([list.name, bad, 400, 'VALIDATION_FAILED']);
      }
      // The same user id, list and place, in another tenant.
      expect((await get(`${list.path()}limit=5`, rival)).body.items).toHaveLength(5);
      expect((await get(`${list.path()}limit=5&cursor=${own}`, rival)).body.code).toBe('VALIDATION_FAILED');
    }
    for (const list of lists) for (const uid of others.slice(0, 12)) await remove(list, uid);
  }, 120_000);
});

describe('a group of 1 000', () => {
  it('has as many in its list as it counts, while 100 join, 50 go and 20 change, for every reader the same', async () => {
    await stage.addUsers(
      'demo',
      Array.from({ length: 1_037 }, (_, index) => `u-more-${index}`),
    );
    const all = await uidsOf('demo');
    const [admin, plain] = await Promise.all(['admin', 'plain'].map((name) => stage.login(nodes[0], 'demo', name)));
    const [first, coming] = [all.slice(0, 997), all.slice(997, 1_097)];
    const [going, changing] = [
      first.filter((_uid, at) => at % 19 === 3).slice(0, 50),
      first.filter((_uid, at) => at % 38 === 6).slice(0, 20),
    ];
    const { body } = await stage.call<{ topic: string }>(nodes[0], 'POST', '/v1/im/groups', {
      token: owner.accessToken,
      body: { name: 'thousand', memberUids: [admin.uid, plain.uid, ...first] },
    });
    const group = body.topic;
    const change = async (node: number, method: string, path: string, more?: unknown): Promise<void> => {
      const { status } = await stage.call(nodes[node], method, `/v1/im/groups/${group}/members${path}`, {
        token: owner.accessToken,
        body: more,
      });
      expect(status).toBeLessThan(300);
    };
    await change(0, 'PATCH', `/${admin.uid}`, { role: 'admin' });
    const work = [
      ...Array.from({ length: 20 }, (_, at) => () => change(0, 'POST', '', { uids: coming.slice(at * 5, at * 5 + 5) })),
      ...going.map((uid) => () => change(1, 'DELETE', `/${uid}`)),
      ...changing.map(
        (uid, at) => () =>
          change(at % 2, 'PATCH', `/${uid}`, at % 4 === 0 ? { role: 'admin' } : { nickname: `N${at}` }),
      ),
    ];
    let writing = true;
    const writers = Promise.all(
      [0, 1, 2].map(async (lane) => {
        for (let at = lane; at < work.length; at += 3) await work[at]();
      }),
    ).finally(() => (writing = false));
    const stayed = first.filter((uid) => !going.includes(uid) && !changing.includes(uid));
    let walks = 0;
    do {
      const seen = await walk(group, admin);
      expect(stayed.map((uid) => [uid, seen.get(uid)])).toEqual(stayed.map((uid) => [uid, 1]));
      walks += 1;
    } while (writing);
    await writers;
    expect(walks).toBeGreaterThan(0);
    // Quiet again: list, totals, profile and rows agree, for an admin as for a member.
    const [asAdmin, asMember] = [await walk(group, admin), await walk(group, plain)];
    expect([...asAdmin].sort()).toEqual([...asMember].sort());
    const wanted = [owner.uid, admin.uid, plain.uid, ...first.filter((uid) => !going.includes(uid)), ...coming];
    expect([...asAdmin.keys()].sort()).toEqual(wanted.sort());
    const profile = await stage.call(nodes[1], 'GET', `/v1/im/groups/${group}`, { token: plain.accessToken });
    const list = await get(`groups/${group}/members?limit=1`, plain, 1);
    const [row] = await stage.sql<{ n: string }>(
      'demo',
      "SELECT COUNT(*) AS n FROM im_group_members WHERE group_id = ? AND state = 'active'",
      [group.slice(4)],
    );
    expect([profile.body.memberCount, list.body.total, Number(row.n)]).toEqual(Array(3).fill(wanted.length));
  }, 240_000);
});

/** The whole list, 50 a page. @returns how often each was shown */
async function walk(group: string, user: TestUser): Promise<Map<string, number>> {
  const times = new Map<string, number>();
  let cursor: string | null = null;
  for (let pages = 0; ; pages += 1) {
    const behind: string = cursor === null ? '' : `&cursor=${cursor}`;
    const { body }: RestAnswer<Page> = await get(`groups/${group}/members?limit=50${behind}`, user, pages % 2);
    for (const { uid } of body.items) times.set(uid as string, (times.get(uid as string) ?? 0) + 1);
    if (body.nextCursor === null) return times;
    cursor = body.nextCursor;
  }
}
