import type { ErrorCode } from '../../../src/platform/errors/error-table.js';
import {
  decide,
  GROUP_ROLES,
  mayActOn,
  type GroupAccess,
  type GroupAction,
  type GroupRole,
} from '../../../src/modules/group/group.types.js';

const NOW = 1_800_000_000_000;

const access = (role: GroupRole | null, more: Partial<GroupAccess> = {}): GroupAccess => ({
  role,
  mutedUntilMs: 0,
  groupState: 'active',
  muteAll: false,
  aclVersion: 1,
  joinedSeq: 0,
  historyForNewMembers: true,
  ...more,
});

/** Written down by hand: what owner, admin and member are told. */
const EXPECTED: Record<GroupAction, [ErrorCode | null, ErrorCode | null, ErrorCode | null]> = {
  send: [null, null, null],
  mentionAll: [null, null, 'FORBIDDEN'],
  edit: [null, null, null],
  recallOwn: [null, null, null],
  recallAny: [null, null, 'FORBIDDEN'],
  removeMessage: [null, null, 'FORBIDDEN'],
  read: [null, null, null],
  addMembers: [null, null, 'FORBIDDEN'],
  kick: [null, null, 'FORBIDDEN'],
  leave: ['CONFLICT', null, null],
  dismiss: [null, 'FORBIDDEN', 'FORBIDDEN'],
  editProfile: [null, null, 'FORBIDDEN'],
  editSettings: [null, null, 'FORBIDDEN'],
  editOwnNickname: [null, null, null],
  editNickname: [null, null, 'FORBIDDEN'],
  mute: [null, null, 'FORBIDDEN'],
  setRole: [null, 'FORBIDDEN', 'FORBIDDEN'],
  transfer: [null, 'FORBIDDEN', 'FORBIDDEN'],
  ban: [null, null, 'FORBIDDEN'],
  reviewJoins: [null, null, 'FORBIDDEN'],
  invite: [null, null, 'FORBIDDEN'],
  announce: [null, null, 'FORBIDDEN'],
  keepAnnouncements: [null, null, 'FORBIDDEN'],
  changeAnnouncement: [null, null, 'FORBIDDEN'],
  confirm: [null, null, null],
};
const ACTIONS = Object.keys(EXPECTED) as GroupAction[];

describe('decide', () => {
  it.each(ACTIONS)('%s by role', (action) => {
    expect(GROUP_ROLES.map((role) => decide(access(role), action, NOW))).toEqual(EXPECTED[action]);
  });

  it.each(ACTIONS)('%s by an outsider, in no group and in a dismissed one', (action) => {
    expect(decide(access(null), action, NOW)).toBe('NOT_MEMBER');
    expect(decide(access(null, { groupState: 'missing' }), action, NOW)).toBe('NOT_MEMBER');
    expect(decide(access(null, { groupState: 'dismissed' }), action, NOW)).toBe('NOT_MEMBER');
    for (const role of GROUP_ROLES) {
      expect(decide(access(role, { groupState: 'dismissed' }), action, NOW)).toBe('GROUP_DISMISSED');
    }
  });

  it('lets a mute count until its very end, by the time of use', () => {
    const muted = { mutedUntilMs: NOW };
    expect(decide(access('member', muted), 'send', NOW - 1)).toBe('MUTED');
    expect(decide(access('member', muted), 'send', NOW)).toBeNull();
    expect(decide(access('admin', muted), 'send', NOW - 1)).toBe('MUTED');
    expect(decide(access('owner', muted), 'send', NOW - 1)).toBeNull();
  });

  it('lets mute-all stop plain members only', () => {
    expect(GROUP_ROLES.map((role) => decide(access(role, { muteAll: true }), 'send', NOW))).toEqual([
      null,
      null,
      'MUTED',
    ]);
  });

  it('lets settings open to members what they open, and nothing else', () => {
    const opened = access('member', { membersMay: ['invite'] });
    expect(ACTIONS.filter((action) => decide(opened, action, NOW) !== EXPECTED[action][2])).toEqual(['invite']);
    expect(decide(access(null, { membersMay: ['invite'] }), 'invite', NOW)).toBe('NOT_MEMBER');
  });

  it('lets no muted member or admin announce, also where members may; taking down is not speaking', () => {
    const muted = { mutedUntilMs: NOW + 1, membersMay: ['announce'] as const };
    expect(GROUP_ROLES.map((role) => decide(access(role, muted), 'announce', NOW))).toEqual([null, 'MUTED', 'MUTED']);
    expect(GROUP_ROLES.map((role) => decide(access(role, muted), 'keepAnnouncements', NOW))).toEqual([
      null,
      null,
      null,
    ]);
    expect(decide(access('member', { muteAll: true, membersMay: ['announce'] }), 'announce', NOW)).toBe('MUTED');
    expect(decide(access('member', { membersMay: ['announce'] }), 'announce', NOW)).toBeNull();
  });

  it('mutes nothing but speaking', () => {
    const muted = access('member', { mutedUntilMs: NOW + 1, muteAll: true });
    const speaking: GroupAction[] = ['send', 'mentionAll', 'edit', 'announce'];
    for (const action of ACTIONS.filter((name) => !speaking.includes(name))) {
      expect(decide(muted, action, NOW)).toBe(EXPECTED[action][2]);
    }
  });
});

describe('mayActOn', () => {
  it('allows only those above', () => {
    const allowed = GROUP_ROLES.flatMap((actor) =>
      GROUP_ROLES.filter((target) => mayActOn(actor, target)).map((target) => `${actor} on ${target}`),
    );
    expect(allowed).toEqual(['owner on admin', 'owner on member', 'admin on member']);
  });
});
