import type { ErrorCode } from '../../../src/platform/errors/error-table.js';
import type { Topic, UserId } from '../../../src/platform/ids/ids.js';
import { World, type Node } from './world.js';

type Who = 'owner' | 'admin' | 'otherAdmin' | 'member' | 'otherMember' | 'left' | 'outsider';
const ACTORS: readonly Who[] = ['owner', 'admin', 'member', 'left', 'outsider'];

let world: World;
let node: Node;
let people: Record<Who | 'fresh', UserId>;

beforeAll(async () => {
  world = await World.open();
  node = await world.node();
  const [owner, admin, otherAdmin, member, otherMember, left, outsider, fresh] = await world.users(8);
  people = { owner, admin, otherAdmin, member, otherMember, left, outsider, fresh };
});
afterAll(() => world.close());

async function freshGroup(): Promise<Topic> {
  const { owner, admin, otherAdmin, member, otherMember, left } = people;
  const topic = await world.group(node, owner, [admin, otherAdmin, member, otherMember, left]);
  await node.members.patch(world.actor(owner), topic, admin, { role: 'admin' });
  await node.members.patch(world.actor(owner), topic, otherAdmin, { role: 'admin' });
  await node.members.remove(world.actor(left), topic, left);
  return topic;
}

type Call = (topic: Topic, actor: UserId) => Promise<unknown>;
const kick =
  (target: Who): Call =>
  (topic, actor) =>
    node.members.remove(world.actor(actor), topic, people[target]);
const patch =
  (target: Who, change: Parameters<typeof node.members.patch>[3]): Call =>
  (topic, actor) =>
    node.members.patch(world.actor(actor), topic, people[target], change);

type Answer = ErrorCode | 'ok';
const NO: Answer = 'FORBIDDEN';
const OUT: Answer = 'NOT_MEMBER';

/** Every door that changes or reads a group: what owner, admin, member, one who left and an outsider are answered. */
const MATRIX: [string, Call, [Answer, Answer, Answer, Answer, Answer]][] = [
  ['read the profile', (topic, actor) => node.reads.profile(world.actor(actor), topic), ['ok', 'ok', 'ok', OUT, OUT]],
  ['read the settings', (topic, actor) => node.reads.settings(world.actor(actor), topic), ['ok', 'ok', 'ok', OUT, OUT]],
  [
    'list members',
    (topic, actor) => node.list.page(world.actor(actor), topic, { limit: 5 }),
    ['ok', 'ok', 'ok', OUT, OUT],
  ],
  ['add', (topic, actor) => node.members.add(world.actor(actor), topic, [people.fresh]), ['ok', 'ok', NO, OUT, OUT]],
  ['kick the owner', kick('owner'), ['CONFLICT', NO, NO, OUT, OUT]],
  ['kick an admin', kick('otherAdmin'), ['ok', NO, NO, OUT, OUT]],
  ['kick a member', kick('otherMember'), ['ok', 'ok', NO, OUT, OUT]],
  ['mute the owner', patch('owner', { mutedUntil: new Date(4e12) }), [NO, NO, NO, OUT, OUT]],
  ['mute an admin', patch('otherAdmin', { mutedUntil: new Date(4e12) }), ['ok', NO, NO, OUT, OUT]],
  ['mute a member', patch('otherMember', { mutedUntil: new Date(4e12) }), ['ok', 'ok', NO, OUT, OUT]],
  ['make an admin', patch('otherMember', { role: 'admin' }), ['ok', NO, NO, OUT, OUT]],
  ['unmake an admin', patch('otherAdmin', { role: 'member' }), ['ok', NO, NO, OUT, OUT]],
  ['degrade the owner', patch('owner', { role: 'member' }), [NO, NO, NO, OUT, OUT]],
  ['rename an admin', patch('otherAdmin', { nickname: 'N' }), ['ok', NO, NO, OUT, OUT]],
  ['rename a member', patch('otherMember', { nickname: 'N' }), ['ok', 'ok', NO, OUT, OUT]],
  ['smuggle a mute in with a name', patch('otherAdmin', { nickname: 'N', mutedUntil: null }), ['ok', NO, NO, OUT, OUT]],
  ['smuggle a role in with a name', patch('otherMember', { nickname: 'N', role: 'admin' }), ['ok', NO, NO, OUT, OUT]],
  [
    'edit the profile',
    (topic, actor) => node.life.patchProfile(world.actor(actor), topic, { name: 'New' }),
    ['ok', 'ok', NO, OUT, OUT],
  ],
  [
    'edit the settings',
    (topic, actor) => node.life.patchSettings(world.actor(actor), topic, { muteAll: true }),
    ['ok', 'ok', NO, OUT, OUT],
  ],
  [
    'transfer',
    (topic, actor) => node.members.transfer(world.actor(actor), topic, people.otherMember),
    ['ok', NO, NO, OUT, OUT],
  ],
  ['dismiss', (topic, actor) => node.life.dismiss(world.actor(actor), topic), ['ok', NO, NO, OUT, OUT]],
  // One who left may repeat it: his call may have been stored and not confirmed.
  [
    'leave',
    (topic, actor) => node.members.remove(world.actor(actor), topic, actor),
    ['CONFLICT', 'ok', 'ok', 'ok', OUT],
  ],
  [
    'take a name for himself',
    (topic, actor) => node.members.patch(world.actor(actor), topic, actor, { nickname: 'Me' }),
    ['ok', 'ok', 'ok', OUT, OUT],
  ],
  [
    'free himself of a mute',
    (topic, actor) => node.members.patch(world.actor(actor), topic, actor, { mutedUntil: null }),
    [NO, NO, NO, OUT, OUT],
  ],
  [
    'promote himself',
    (topic, actor) => node.members.patch(world.actor(actor), topic, actor, { role: 'admin' }),
    [NO, NO, NO, OUT, OUT],
  ],
];

const answerOf = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => 'ok',
    (error: { code?: unknown }) => error.code ?? error,
  );

describe('rights', () => {
  it.each(MATRIX)('%s', async (_name, call, expected) => {
    const answers: unknown[] = [];
    for (const who of ACTORS) answers.push(await answerOf(call(await freshGroup(), people[who])));
    expect(answers).toEqual(expected);
  });

  it.each(MATRIX)('%s in a group that does not exist', async (_name, call) => {
    for (const who of ACTORS) expect(await answerOf(call('grp_987654321' as Topic, people[who]))).toBe('NOT_MEMBER');
  });

  it('a refused call changes nothing and tells nobody', async () => {
    const topic = await freshGroup();
    const rows = (): Promise<unknown> =>
      world.query('SELECT * FROM im_group_members WHERE group_id = ? ORDER BY uid', [topic.slice(4)]);
    const before = await rows();
    node.told.length = 0;
    for (const [, call, expected] of MATRIX) {
      for (const [index, who] of ACTORS.entries()) {
        if (expected[index] !== 'ok') await answerOf(call(topic, people[who]));
      }
    }
    expect(await rows()).toEqual(before);
    expect(node.told).toEqual([]);
  });
});

describe('settings', () => {
  it('come back as they were set, the others as they were', async () => {
    const topic = await freshGroup();
    const boss = world.actor(people.owner);
    expect(await node.reads.settings(boss, topic)).toEqual({
      muteAll: false,
      joinApproval: true,
      historyForNewMembers: true,
      whoMayInvite: 'admins',
      whoMayAnnounce: 'admins',
    });
    await node.life.patchSettings(boss, topic, { historyForNewMembers: false, whoMayInvite: 'members' });
    expect(await node.reads.settings(boss, topic)).toMatchObject({
      historyForNewMembers: false,
      whoMayInvite: 'members',
    });
    expect((await node.groups.loadAccess(world.tenant, topic, people.member)).historyForNewMembers).toBe(false);
  });
});
