import { below, rest, type Action, type Door } from './actions.js';
import type { Group } from './group.js';
import type { Person } from './people.js';
import { DISMISSED, ROLES, type Role, type Rule } from './rules.js';

const LATER = '2098-01-01T00:00:00.000Z';

type Whom = (group: Group, role: Role) => Person;
const target: Whom = (group, role) => group.target(role);
const fresh: Whom = (group, role) => group.fresh(role);
const self: Whom = ({ people }, role) => people.of[role];
const owner: Whom = ({ people }) => people.of.owner;
const otherAdmin: Whom = ({ people }) => people.otherAdmin;
const banned: Whom = ({ people }) => people.of.banned;
const blocked: Whom = ({ people }) => people.of.blocked;
const unwilling: Whom = ({ people }) => people.unwilling;

const onMember = (method: string, whom: Whom, body?: object): Action['doors'] => ({
  rest: rest(
    method,
    below((group, role) => `/members/${whom(group, role).uid}`),
    body && (() => body),
  ),
});
const adding = (whom: Whom): Action['doors'] => ({
  rest: rest('POST', below('/members'), (group, role) => ({ uids: [whom(group, role).uid] })),
});
const banning = (whom: Whom): Action['doors'] => ({
  rest: rest('POST', below('/bans'), (group, role) => ({ uid: whom(group, role).uid })),
});
const reading = (path: string): Pick<Action, 'doors' | 'reads'> => ({
  doors: { rest: rest('GET', below(path)) },
  reads: true,
});

/** The group itself and who is in it. */
const BASICS: readonly Action[] = [
  { name: 'read the profile', rule: 'members', ...reading('') },
  { name: 'read the settings', rule: 'members', ...reading('/settings') },
  { name: 'list the members', rule: 'members', ...reading('/members') },
  { name: 'search the members', rule: 'members', ...reading('/members?q=crowd&role=member&status=muted') },
  { name: 'list the bans', rule: 'admins', ...reading('/bans') },
  {
    name: 'change the profile',
    rule: 'admins',
    doors: { rest: rest('PATCH', below(), (_, role) => ({ name: role })) },
  },
  {
    name: 'change the settings',
    rule: 'admins',
    doors: { rest: rest('PATCH', below('/settings'), (_, role) => ({ historyForNewMembers: role !== 'owner' })) },
  },
  { name: 'add a user', rule: 'admins', doors: adding(fresh) },
  { name: 'add a banned user', rule: 'refusedTarget', doors: adding(banned) },
  { name: 'add a user who wants to be added by nobody', rule: 'refusedTarget', doors: adding(unwilling) },
  { name: 'add a user whom the owner has blocked', rule: 'refusesTheOwner', doors: adding(blocked) },
  { name: 'kick a member', rule: 'admins', doors: onMember('DELETE', target) },
  { name: 'kick an admin', rule: 'owner', doors: onMember('DELETE', otherAdmin) },
  {
    name: 'leave',
    rule: 'leaving',
    doors: onMember('DELETE', self),
    ends: { ...DISMISSED, banned: 'ok', former: 'ok' },
  },
  { name: 'ban a member', rule: 'admins', doors: banning(target) },
  { name: 'ban an admin', rule: 'owner', doors: banning(otherAdmin) },
  { name: 'ban an outsider', rule: 'admins', doors: banning(fresh) },
  {
    name: 'end a ban',
    rule: 'admins',
    doors: {
      rest: rest(
        'DELETE',
        below((group) => `/bans/${group.people.of.banned.uid}`),
      ),
    },
  },
  { name: 'mute a member', rule: 'admins', doors: onMember('PATCH', target, { mutedUntil: LATER }) },
  { name: 'mute an admin', rule: 'owner', doors: onMember('PATCH', otherAdmin, { mutedUntil: LATER }) },
  {
    name: 'end a mute',
    rule: 'admins',
    doors: onMember('PATCH', ({ people }) => people.of.muted, { mutedUntil: null }),
  },
  { name: 'end an own mute', rule: 'nobody', doors: onMember('PATCH', self, { mutedUntil: null }) },
  { name: 'take a name', rule: 'members', doors: onMember('PATCH', self, { nickname: 'Me' }) },
  { name: 'take a name and a role', rule: 'nobody', doors: onMember('PATCH', self, { nickname: 'Me', role: 'admin' }) },
  { name: 'name a member', rule: 'admins', doors: onMember('PATCH', target, { nickname: 'You' }) },
  { name: 'name an admin', rule: 'owner', doors: onMember('PATCH', otherAdmin, { nickname: 'You' }) },
  { name: 'make an admin', rule: 'owner', doors: onMember('PATCH', target, { role: 'admin' }) },
  { name: 'unmake an admin', rule: 'owner', doors: onMember('PATCH', otherAdmin, { role: 'member' }) },
  { name: 'degrade the owner', rule: 'nobody', doors: onMember('PATCH', owner, { role: 'member' }) },
  { name: 'mute the owner', rule: 'nobody', doors: onMember('PATCH', owner, { mutedUntil: LATER }) },
  {
    name: 'hand the group over',
    rule: 'owner',
    doors: { rest: rest('POST', below('/transfer'), (group, role) => ({ uid: target(group, role).uid })) },
  },
  { name: 'dismiss', rule: 'owner', doors: { rest: rest('DELETE', below()) }, ends: { ...DISMISSED, owner: 'ok' } },
];

/** One asks for each role that may decide. */
async function ask(group: Group): Promise<void> {
  const { people } = group;
  for (const [role, person] of people.fresh) {
    await people.must(person, 'POST', `${group.at}/join-requests`, {});
    const { items } = await people.must<{ items: { id: string; uid: string }[] }>(
      'owner',
      'GET',
      `${group.at}/join-requests?limit=100`,
    );
    group.made.set(`request ${role}`, items.find((item) => item.uid === person.uid)!.id);
  }
}

const deciding = (how: string): Action => ({
  name: `${how} a request`,
  rule: 'admins',
  doors: {
    rest: rest(
      'POST',
      below((group, role) => `/join-requests/${made(group, 'request', role)}/${how}`),
    ),
  },
  prepare: ask,
});

/** What was prepared for this role, or for the owner. */
const made = (group: Group, what: string, role: Role): string =>
  group.made.get(`${what} ${role}`) ?? group.made.get(`${what} owner`)!;

const invite =
  (by: Role) =>
  async (group: Group): Promise<void> => {
    const { code } = await group.people.must<{ code: string }>(by, 'POST', `${group.at}/invites`, {});
    group.made.set('invite owner', code);
  };

const accepting: Door = (group, role) =>
  group.people.rest(role, 'POST', `/v1/im/invites/${group.made.get('invite owner')}/accept`);

/** Whoever wants to come in learns that there is nothing any more. */
const TOLD_TO_ALL: Rule = {
  ...(Object.fromEntries(ROLES.map((role) => [role, 'GROUP_DISMISSED'])) as Rule),
  foreign: 'NOT_MEMBER',
};

/** Ways in. */
const JOINS: readonly Action[] = [
  { name: 'list the requests', rule: 'admins', ...reading('/join-requests') },
  {
    name: 'ask to be let in',
    rule: 'joining',
    doors: { rest: rest('POST', below('/join-requests'), () => ({})) },
    ends: TOLD_TO_ALL,
  },
  deciding('approve'),
  deciding('reject'),
  { name: 'invite', rule: 'admins', doors: { rest: rest('POST', below('/invites'), () => ({})) } },
  {
    name: 'invite where members may',
    rule: 'members',
    doors: { rest: rest('POST', below('/invites'), () => ({})) },
    settings: { whoMayInvite: 'members' },
  },
  {
    name: 'accept an invite',
    rule: 'accepting',
    doors: { rest: accepting },
    prepare: invite('owner'),
    ends: { ...TOLD_TO_ALL, foreign: 'NOT_FOUND' },
  },
  {
    name: 'end an invite of the owner',
    rule: 'admins',
    doors: {
      rest: rest(
        'DELETE',
        below((group) => `/invites/${group.made.get('invite owner')}`),
      ),
    },
    prepare: invite('owner'),
  },
];

/** The owner's announcement, one for each role that may do something to it. */
async function announce(group: Group): Promise<void> {
  for (const role of group.people.targets.keys()) {
    const { id } = await group.people.must<{ id: string }>('owner', 'POST', `${group.at}/announcements`, {
      content: 'Known to all',
    });
    group.made.set(`announcement ${role}`, id);
  }
}

/** Each role's own; those who never could announce try it on that of the owner. */
async function announceEach({ people, at, made: ids }: Group): Promise<void> {
  for (const role of people.targets.keys()) {
    const { id } = await people.must<{ id: string }>(role, 'POST', `${at}/announcements`, { content: 'Known to all' });
    ids.set(`announcement ${role}`, id);
  }
}

const onAnnouncement = (method: string, path = '', body?: object): Action['doors'] => ({
  rest: rest(
    method,
    below((group, role) => `/announcements/${made(group, 'announcement', role)}${path}`),
    body && (() => body),
  ),
});
const announcing: Action['doors'] = { rest: rest('POST', below('/announcements'), () => ({ content: 'New' })) };
const OPEN = { whoMayAnnounce: 'members' };

/** What a group tells its members to know. */
const ANNOUNCEMENTS: readonly Action[] = [
  { name: 'list the announcements', rule: 'members', ...reading('/announcements') },
  { name: 'announce', rule: 'admins', doors: announcing },
  { name: 'announce where members may', rule: 'speech', doors: announcing, settings: OPEN },
  {
    name: 'announce where members may while all are muted',
    rule: 'speechOfAdmins',
    doors: announcing,
    settings: { ...OPEN, muteAll: true },
  },
  {
    name: 'edit an announcement',
    rule: 'admins',
    doors: onAnnouncement('PATCH', '', { content: 'Other' }),
    prepare: announce,
  },
  {
    name: 'edit an announcement of the owner where members may announce',
    rule: 'adminsOfSpeakers',
    doors: onAnnouncement('PATCH', '', { content: 'Other' }),
    prepare: announce,
    settings: OPEN,
  },
  {
    name: 'edit an own announcement where members may announce',
    rule: 'speech',
    doors: onAnnouncement('PATCH', '', { content: 'Other' }),
    early: announceEach,
    settings: OPEN,
  },
  { name: 'take an announcement down', rule: 'admins', doors: onAnnouncement('DELETE'), prepare: announce },
  {
    name: 'take an announcement of the owner down where members may announce',
    rule: 'admins',
    doors: onAnnouncement('DELETE'),
    prepare: announce,
    settings: OPEN,
  },
  {
    name: 'take an own announcement down where members may announce',
    rule: 'members',
    doors: onAnnouncement('DELETE'),
    early: announceEach,
    settings: OPEN,
  },
  {
    name: 'read the versions of an announcement',
    rule: 'members',
    doors: onAnnouncement('GET', '/versions'),
    prepare: announce,
    reads: true,
  },
  { name: 'confirm an announcement', rule: 'members', doors: onAnnouncement('POST', '/confirm'), prepare: announce },
  {
    name: 'read who has confirmed',
    rule: 'admins',
    doors: onAnnouncement('GET', '/confirms?state=waiting'),
    prepare: announce,
    reads: true,
  },
  {
    name: 'read who has confirmed where members may announce',
    rule: 'members',
    doors: onAnnouncement('GET', '/confirms'),
    prepare: announce,
    reads: true,
    settings: OPEN,
  },
];

export const GROUP_ACTIONS: readonly Action[] = [...BASICS, ...JOINS, ...ANNOUNCEMENTS];
