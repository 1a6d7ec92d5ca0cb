import { Stage, type TestNode, type TestUser } from '../../support/stage.js';
import { until } from '../../support/until.js';

let stage: Stage;
let node: TestNode;
let users: TestUser[];
let topic: string;
const [OWNER, ADMIN, MEMBER, OUT, OTHER] = [0, 1, 2, 3, 4];

beforeAll(async () => {
  stage = await Stage.open();
  const accounts = ['owner', 'admin', 'member', 'outsider', 'other'];
  await stage.tenant('demo', accounts);
  node = await stage.inProcess();
  users = await Promise.all(accounts.map((account) => stage.login(node, 'demo', account)));
}, 30_000);
afterAll(() => stage.close());

const call = (who: number, method: string, path: string, body?: unknown) =>
  stage.call<Record<string, unknown>>(node, method, `/v1/im/${path}`, { token: users[who].accessToken, body });
const inGroup = (who: number, method: string, path: string, body?: unknown) =>
  call(who, method, `groups/${topic}/${path}`, body);
const expectCode = async (answer: ReturnType<typeof call>, code: string): Promise<void> =>
  expect((await answer).body.code).toBe(code);
const itemsOf = async (answer: ReturnType<typeof call>) => (await answer).body.items as Record<string, unknown>[];
const audited = async (): Promise<string[]> => {
  const sql = 'SELECT action FROM im_audit_logs WHERE target = ? ORDER BY id';
  return (await stage.sql<{ action: string }>('demo', sql, [topic])).map(({ action }) => action);
};
const aclVersion = async (): Promise<number> => {
  const [row] = await stage.sql<{ v: string }>('demo', 'SELECT acl_version AS v FROM im_topic_seq WHERE topic = ?', [
    topic,
  ]);
  return Number(row.v);
};

beforeEach(async () => {
  topic = await stage.group(node, users[OWNER], [users[ADMIN], users[MEMBER]]);
  await inGroup(OWNER, 'PATCH', `members/${users[ADMIN].uid}`, { role: 'admin' });
});

it('bans take out and keep out, by every way in, until they end', async () => {
  const { uid } = users[MEMBER];
  await expectCode(inGroup(MEMBER, 'POST', 'bans', { uid: users[ADMIN].uid }), 'FORBIDDEN');
  await expectCode(inGroup(ADMIN, 'POST', 'bans', { uid: users[OWNER].uid }), 'FORBIDDEN');
  await expectCode(inGroup(ADMIN, 'POST', 'bans', { uid: '999999' }), 'NOT_FOUND');
  const before = await aclVersion();
  for (let round = 0; round < 2; round += 1) {
    expect((await inGroup(ADMIN, 'POST', 'bans', { uid, reason: 'spam' })).status).toBe(204);
  }
  expect(await aclVersion()).toBe(before + 2);
  await expectCode(call(MEMBER, 'GET', `groups/${topic}`), 'NOT_MEMBER');
  expect(await itemsOf(inGroup(ADMIN, 'GET', 'bans'))).toMatchObject([{ uid, until: null, reason: 'spam' }]);
  await expectCode(inGroup(OWNER, 'POST', 'members', { uids: [uid] }), 'BLOCKED');
  await expectCode(inGroup(MEMBER, 'POST', 'join-requests', {}), 'BLOCKED');
  const { code } = (await inGroup(OWNER, 'POST', 'invites', {})).body;
  await expectCode(call(MEMBER, 'POST', `invites/${String(code)}/accept`), 'BLOCKED');
  expect((await inGroup(ADMIN, 'DELETE', `bans/${uid}`)).status).toBe(204);
  expect((await call(MEMBER, 'POST', `invites/${String(code)}/accept`)).body).toEqual({ topic, state: 'joined' });
  const soon = new Date(Date.now() + 700).toISOString();
  await inGroup(OWNER, 'POST', 'bans', { uid, until: soon });
  await until('the ban ends', async () => (await inGroup(OWNER, 'POST', 'members', { uids: [uid] })).status === 200);
  expect(await audited()).toEqual(expect.arrayContaining(['group.create', 'group.member', 'group.ban', 'group.unban']));
});

it('who asks is let in by an admin, once, and never into a dismissed group', async () => {
  expect((await inGroup(OUT, 'POST', 'join-requests', { message: 'hi' })).body).toEqual({ topic, state: 'pending' });
  await inGroup(OUT, 'POST', 'join-requests', { message: 'again' });
  await inGroup(OTHER, 'POST', 'join-requests', {});
  await expectCode(inGroup(MEMBER, 'GET', 'join-requests'), 'FORBIDDEN');
  const [first, second, ...more] = await itemsOf(inGroup(ADMIN, 'GET', 'join-requests'));
  expect([first, second, more]).toMatchObject([{ uid: users[OUT].uid, message: 'hi' }, { uid: users[OTHER].uid }, []]);
  await expectCode(inGroup(MEMBER, 'POST', `join-requests/${String(first.id)}/approve`), 'FORBIDDEN');
  await expectCode(inGroup(OUT, 'POST', `join-requests/${String(first.id)}/approve`), 'NOT_MEMBER');
  const both = await Promise.all(
    [ADMIN, OWNER].map((who) => inGroup(who, 'POST', `join-requests/${String(first.id)}/approve`)),
  );
  expect(both.map(({ status }) => status)).toEqual([204, 204]);
  expect((await call(OUT, 'GET', `groups/${topic}`)).body).toMatchObject({ role: 'member', memberCount: 4 });
  await expectCode(inGroup(ADMIN, 'POST', `join-requests/${String(first.id)}/reject`), 'CONFLICT');
  await expectCode(inGroup(OUT, 'POST', 'join-requests', {}), 'CONFLICT');
  await call(OWNER, 'DELETE', `groups/${topic}`);
  await expectCode(inGroup(ADMIN, 'POST', `join-requests/${String(second.id)}/approve`), 'GROUP_DISMISSED');
  await expectCode(inGroup(OTHER, 'POST', 'join-requests', {}), 'GROUP_DISMISSED');
  topic = 'grp_999999';
  await expectCode(inGroup(OTHER, 'POST', 'join-requests', {}), 'NOT_MEMBER');
});

it('without approval one is in at once', async () => {
  await inGroup(OWNER, 'PATCH', 'settings', { joinApproval: false });
  const client = await stage.connect(node, users[MEMBER]);
  expect((await inGroup(OUT, 'POST', 'join-requests', {})).body).toEqual({ topic, state: 'joined' });
  await until('the members hear of it', () => client.events('group:changed').some(({ kind }) => kind === 'joined'));
});

it('a mute goes on for who leaves or is kicked and comes back by himself; an admin who adds him ends it', async () => {
  const { uid } = users[MEMBER];
  const muteEnd = '2099-01-01T00:00:00.000Z';
  const shown = async () =>
    (await itemsOf(inGroup(OWNER, 'GET', 'members'))).find((one) => one.uid === uid)?.mutedUntil;
  const { code } = (await inGroup(OWNER, 'POST', 'invites', {})).body;
  await inGroup(OWNER, 'PATCH', 'settings', { joinApproval: false });
  await inGroup(ADMIN, 'PATCH', `members/${uid}`, { mutedUntil: muteEnd });
  expect((await inGroup(MEMBER, 'DELETE', `members/${uid}`)).status).toBe(204);
  expect((await inGroup(MEMBER, 'POST', 'join-requests', {})).body).toEqual({ topic, state: 'joined' });
  expect(await shown()).toBe(muteEnd);
  expect((await inGroup(ADMIN, 'DELETE', `members/${uid}`)).status).toBe(204);
  expect((await call(MEMBER, 'POST', `invites/${String(code)}/accept`)).body).toEqual({ topic, state: 'joined' });
  expect(await shown()).toBe(muteEnd);
  expect((await inGroup(MEMBER, 'DELETE', `members/${uid}`)).status).toBe(204);
  expect((await inGroup(ADMIN, 'POST', 'members', { uids: [uid] })).status).toBe(200);
  expect(await shown()).toBeNull();
});

it('an invite lets in as many as it says, while its maker may invite', async () => {
  await expectCode(inGroup(MEMBER, 'POST', 'invites', {}), 'FORBIDDEN');
  const one = (await inGroup(ADMIN, 'POST', 'invites', { maxUses: 1, expiresIn: 60 })).body as { code: string };
  const both = await Promise.all([OUT, OTHER].map((who) => call(who, 'POST', `invites/${one.code}/accept`)));
  expect(both.map(({ status }) => status).sort()).toEqual([200, 404]);
  const winner = both[0].status === 200 ? OUT : OTHER;
  expect((await call(winner, 'POST', `invites/${one.code}/accept`)).body).toEqual({ topic, state: 'joined' });
  const loser = winner === OUT ? OTHER : OUT;
  await inGroup(OWNER, 'PATCH', 'settings', { whoMayInvite: 'members' });
  const byMember = (await inGroup(MEMBER, 'POST', 'invites', {})).body as { code: string };
  // The group wants approval, and a member's word is not that of an admin.
  expect((await call(loser, 'POST', `invites/${byMember.code}/accept`)).body).toEqual({ topic, state: 'pending' });
  await inGroup(OWNER, 'PATCH', 'settings', { whoMayInvite: 'admins' });
  await expectCode(call(loser, 'POST', `invites/${byMember.code}/accept`), 'NOT_FOUND');
  const ended = (await inGroup(ADMIN, 'POST', 'invites', {})).body as { code: string };
  await expectCode(inGroup(MEMBER, 'DELETE', `invites/${ended.code}`), 'FORBIDDEN');
  expect((await inGroup(OWNER, 'DELETE', `invites/${ended.code}`)).status).toBe(204);
  await expectCode(call(loser, 'POST', `invites/${ended.code}/accept`), 'NOT_FOUND');
  await expectCode(call(loser, 'POST', 'invites/nonesuch/accept'), 'NOT_FOUND');
  const late = (await inGroup(ADMIN, 'POST', 'invites', {})).body as { code: string };
  await stage.sql('demo', 'UPDATE im_group_invites SET expires_at = ? WHERE code = ?', [new Date(), late.code]);
  await expectCode(call(loser, 'POST', `invites/${late.code}/accept`), 'NOT_FOUND');
});

it('blocks and privacy refuse being added and invited', async () => {
  const relations = (who: number, method: string, path: string, body?: unknown) =>
    call(who, method, `relations/${path}`, body);
  await relations(OUT, 'POST', 'blocklist', { uid: users[OWNER].uid });
  const add = (who: number) => inGroup(who, 'POST', 'members', { uids: [users[OUT].uid] });
  expect((await add(OWNER)).body).toMatchObject({ code: 'BLOCKED', details: [{ field: 'uids[0]' }] });
  await expectCode(call(OWNER, 'POST', 'groups', { name: 'x', memberUids: [users[OUT].uid] }), 'BLOCKED');
  const { code } = (await inGroup(OWNER, 'POST', 'invites', {})).body;
  await expectCode(call(OUT, 'POST', `invites/${String(code)}/accept`), 'BLOCKED');
  await relations(OUT, 'DELETE', `blocklist/${users[OWNER].uid}`);
  const privacy = (addToGroups: string) => call(OUT, 'PATCH', 'users/me', { privacy: { addToGroups } });
  await privacy('nobody');
  await expectCode(add(ADMIN), 'BLOCKED');
  await privacy('friends');
  await expectCode(add(OWNER), 'BLOCKED');
  await relations(OUT, 'POST', 'friends', { uid: users[OWNER].uid });
  await relations(OWNER, 'POST', 'friends', { uid: users[OUT].uid });
  expect((await add(OWNER)).status).toBe(200);
  await privacy('everyone');
  await relations(OUT, 'DELETE', `friends/${users[OWNER].uid}`);
});

it('announcements keep their versions and who has confirmed which, quietly', async () => {
  await expectCode(inGroup(MEMBER, 'POST', 'announcements', { content: 'no' }), 'FORBIDDEN');
  const client = await stage.connect(node, users[MEMBER]);
  const made = (await inGroup(ADMIN, 'POST', 'announcements', { title: 'T', content: 'one' })).body;
  const path = `announcements/${String(made.id)}`;
  expect(made.version).toBe(1);
  const told = () => client.events('group:changed').filter(({ kind }) => kind === 'announcement');
  await until('the members are told', () => told().length === 1);
  for (let round = 0; round < 2; round += 1) {
    expect((await inGroup(MEMBER, 'POST', `${path}/confirm`)).status).toBe(204);
  }
  await expectCode(inGroup(OUT, 'POST', `${path}/confirm`), 'NOT_MEMBER');
  await expectCode(inGroup(MEMBER, 'GET', `${path}/confirms`), 'FORBIDDEN');
  expect((await inGroup(OWNER, 'GET', `${path}/confirms`)).body).toMatchObject({
    items: [{ uid: users[MEMBER].uid }],
    confirmed: 1,
    waiting: 2,
    nextCursor: null,
  });
  const page = (await inGroup(OWNER, 'GET', `${path}/confirms?state=waiting&limit=1`)).body;
  const rest = (await inGroup(OWNER, 'GET', `${path}/confirms?state=waiting&cursor=${String(page.nextCursor)}`)).body;
  expect([page.items, rest.items]).toEqual([OWNER, ADMIN].map((who) => [{ uid: users[who].uid, confirmedAt: null }]));
  await expectCode(inGroup(OWNER, 'GET', `${path}/confirms?cursor=${String(page.nextCursor)}`), 'VALIDATION_FAILED');
  await expectCode(inGroup(OWNER, 'PATCH', path, { content: 'two', version: 9 }), 'CONFLICT');
  expect((await inGroup(OWNER, 'PATCH', path, { content: 'two', version: 1 })).body).toEqual({
    id: made.id,
    version: 2,
  });
  expect((await inGroup(OWNER, 'GET', `${path}/confirms`)).body).toMatchObject({ confirmed: 0, waiting: 3 });
  expect(await itemsOf(inGroup(MEMBER, 'GET', 'announcements'))).toMatchObject([
    { id: made.id, version: 2, title: 'T', content: 'two', confirmed: false },
  ]);
  expect(await itemsOf(inGroup(MEMBER, 'GET', `${path}/versions`))).toMatchObject([
    { version: 2, content: 'two' },
    { version: 1, content: 'one' },
  ]);
  await until('the new version is told', () => told().length === 2);
  expect((await inGroup(ADMIN, 'DELETE', path)).status).toBe(204);
  await expectCode(inGroup(ADMIN, 'PATCH', path, { content: 'x' }), 'NOT_FOUND');
  expect(await itemsOf(inGroup(MEMBER, 'GET', 'announcements'))).toEqual([]);
});

it.each([
  ['POST', 'bans', { uid: 2 }],
  ['POST', 'bans', { uid: '2', until: 'tomorrow' }],
  ['POST', 'bans', {}],
  ['POST', 'join-requests', { message: 5 }],
  ['POST', 'join-requests/x/approve', undefined],
  ['POST', 'invites', { maxUses: 0 }],
  ['POST', 'invites', { expiresIn: 59 }],
  ['POST', 'invites', { maxUses: '3' }],
  ['DELETE', 'invites/a.b', undefined],
  ['POST', 'announcements', { content: '  ' }],
  ['POST', 'announcements', { content: 'x'.repeat(4001) }],
  ['POST', 'announcements', {}],
  ['PATCH', 'announcements/1', {}],
  ['PATCH', 'announcements/1', { version: 1 }],
  ['GET', 'announcements/1/confirms?state=all', undefined],
  ['GET', 'bans?cursor=x', undefined],
])('%s %s %j is refused', async (method, path, body) => {
  expect(await inGroup(OWNER, method, path, body)).toMatchObject({ status: 400, body: { code: 'VALIDATION_FAILED' } });
});
