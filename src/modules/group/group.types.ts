import type { ErrorCode } from '../../platform/errors/error-table.js';
import type { Topic, UserId } from '../../platform/ids/ids.js';

export type GroupRole = 'owner' | 'admin' | 'member';

/** In the order of the member list. */
export const GROUP_ROLES: readonly GroupRole[] = ['owner', 'admin', 'member'];

/** All that decides what one user may do in one group at one moment. */
export interface GroupAccess {
  /** null = no member */
  readonly role: GroupRole | null;
  /** Milliseconds since the epoch; 0 = not muted. Compared with the time of use, so that a mute ends by itself. */
  readonly mutedUntilMs: number;
  readonly groupState: 'active' | 'dismissed' | 'missing';
  readonly muteAll: boolean;
  /** `im_topic_seq.acl_version` that all this was read under. */
  readonly aclVersion: number;
  /** Highest seq that was stored when the user joined. */
  readonly joinedSeq: number;
  /** May members read what was sent before they joined? */
  readonly historyForNewMembers: boolean;
  /** What the group's settings open to plain members; absent = nothing. */
  readonly membersMay?: readonly GroupAction[];
}

export type GroupAction =
  | 'send'
  | 'mentionAll'
  | 'edit'
  | 'recallOwn'
  | 'recallAny'
  | 'removeMessage'
  | 'read'
  | 'addMembers'
  | 'kick'
  | 'leave'
  | 'dismiss'
  | 'editProfile'
  | 'editSettings'
  | 'editOwnNickname'
  | 'editNickname'
  | 'mute'
  | 'setRole'
  | 'transfer'
  | 'ban'
  | 'reviewJoins'
  | 'invite'
  | 'announce'
  | 'keepAnnouncements'
  | 'changeAnnouncement'
  | 'confirm';

interface Rule {
  readonly owner: ErrorCode | null;
  readonly admin: ErrorCode | null;
  readonly member: ErrorCode | null;
  /** Does a mute forbid it? True for whatever speaks to the group. */
  readonly speaks: boolean;
  /** The setting of the group that opens it to members is that of this action. */
  readonly openedAs?: GroupAction;
}

const everyone = { owner: null, admin: null, member: null, speaks: false } as const;
const admins = { owner: null, admin: null, member: 'FORBIDDEN', speaks: false } as const;
const ownerOnly = { owner: null, admin: 'FORBIDDEN', member: 'FORBIDDEN', speaks: false } as const;

/** Who may do what: the only place that says it. */
const RULES: Readonly<Record<GroupAction, Rule>> = {
  send: { ...everyone, speaks: true },
  mentionAll: { ...admins, speaks: true },
  // An edit says something new; taking back does not.
  edit: { ...everyone, speaks: true },
  recallOwn: everyone,
  recallAny: admins,
  removeMessage: admins,
  read: everyone,
  addMembers: admins,
  kick: admins,
  // A group is never without an owner: he hands it over or dismisses it first.
  leave: { ...everyone, owner: 'CONFLICT' },
  dismiss: ownerOnly,
  editProfile: admins,
  editSettings: admins,
  editOwnNickname: everyone,
  editNickname: admins,
  mute: admins,
  setRole: ownerOnly,
  transfer: ownerOnly,
  ban: admins,
  reviewJoins: admins,
  // Settings of the group open these to members.
  invite: admins,
  announce: { ...admins, speaks: true },
  // Taking one down and looking who has confirmed it say nothing.
  keepAnnouncements: { ...admins, openedAs: 'announce' },
  // Of another one. His own an announcer edits and takes down.
  changeAnnouncement: admins,
  confirm: everyone,
};

/**
 * The one decision behind every door. An outsider is told the same whether the group exists or not.
 * @param nowMs time of use, milliseconds since the epoch
 * @returns why not, or null when it is allowed
 */
export function decide(access: GroupAccess, action: GroupAction, nowMs: number): ErrorCode | null {
  if (access.groupState === 'missing' || access.role === null) return 'NOT_MEMBER';
  if (access.groupState === 'dismissed') return 'GROUP_DISMISSED';
  const rule = RULES[action];
  const opened = access.role === 'member' && access.membersMay?.includes(rule.openedAs ?? action) === true;
  if (rule[access.role] !== null && !opened) return rule[access.role];
  return rule.speaks && isMuted(access, access.role, nowMs) ? 'MUTED' : null;
}

/** The owner is never muted; mute-all stops plain members only. */
function isMuted(access: GroupAccess, role: GroupRole, nowMs: number): boolean {
  if (role === 'owner') return false;
  return access.mutedUntilMs > nowMs || (access.muteAll && role === 'member');
}

/** Whom an actor may kick, mute or rename: only those below him. */
export function mayActOn(actor: GroupRole, target: GroupRole): boolean {
  return GROUP_ROLES.indexOf(actor) < GROUP_ROLES.indexOf(target);
}

/** What changed, as the wire names it. */
export type GroupChangeKind =
  | 'joined'
  | 'left'
  | 'kicked'
  | 'muted'
  | 'unmuted'
  | 'role'
  | 'profile'
  | 'settings'
  | 'announcement'
  | 'transferred'
  | 'dismissed';

export interface GroupChanged {
  readonly topic: Topic;
  readonly kind: GroupChangeKind;
  readonly actor: UserId;
  /** Members that it happened to. */
  readonly targets?: readonly UserId[];
  /** Fields with their new values. */
  readonly patch?: Readonly<Record<string, unknown>>;
}

declare module '../../platform/socket/events.js' {
  interface ServerEvents {
    'group:changed': GroupChanged;
  }
}
