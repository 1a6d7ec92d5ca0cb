import type { ErrorCode } from '../../../src/platform/errors/error-table.js';

/** What one is answered: `ok`, or the code of the refusal. */
export type Verdict = 'ok' | ErrorCode;

/**
 * How one stands to a group. `blocked` is an outsider whom the owner has blocked; `foreign` is a user of another tenant who
 * has the very uid that the owner has in his.
 */
export const ROLES = [
  'owner',
  'admin',
  'member',
  'muted',
  'banned',
  'former',
  'stranger',
  'blocked',
  'foreign',
] as const;
export type Role = (typeof ROLES)[number];

/** Those who are in the group. */
export const MEMBERS: readonly Role[] = ['owner', 'admin', 'member', 'muted'];

export type Rule = Readonly<Record<Role, Verdict>>;

/** A rule for those inside; whoever is outside is told the same, whether there is such a group or not. */
function inside(owner: Verdict, admin: Verdict, member: Verdict, muted: Verdict, others: Partial<Rule> = {}): Rule {
  const out = 'NOT_MEMBER';
  const outside = { banned: out, former: out, stranger: out, blocked: out, foreign: out } as const;
  return { owner, admin, member, muted, ...outside, ...others };
}

const NO = 'FORBIDDEN';

/** Who may do what in a group, from docs/protocol.md. Every action of the matrix names one of these. */
export const RULES = {
  /** Being a member is enough; a mute stops nothing but speech. */
  members: inside('ok', 'ok', 'ok', 'ok'),
  /** Whatever says something to the group. */
  speech: inside('ok', 'ok', 'ok', 'MUTED'),
  /** Only the owner and the admins speak: the group is muted as a whole. */
  speechOfAdmins: inside('ok', 'ok', 'MUTED', 'MUTED'),
  /** The owner and the admins. */
  admins: inside('ok', 'ok', NO, NO),
  /** Speech that is the owner's and the admins', where others speak, too: one who is muted hears of that first. */
  adminsOfSpeakers: inside('ok', 'ok', NO, 'MUTED'),
  owner: inside('ok', NO, NO, NO),
  /** What nobody may do to the one it is done to, or to what is another's. */
  nobody: inside(NO, NO, NO, NO),
  /** A group is never without an owner; whoever is out already may repeat the call. */
  leaving: inside('CONFLICT', 'ok', 'ok', 'ok', { banned: 'ok', former: 'ok' }),
  /** Asking to be let in is for those who are out. */
  joining: inside('CONFLICT', 'CONFLICT', 'CONFLICT', 'CONFLICT', {
    banned: 'BLOCKED',
    former: 'ok',
    stranger: 'ok',
    blocked: 'ok',
  }),
  /** By an invite of the owner: a block between the two counts; a code is unknown in another tenant. */
  accepting: inside('ok', 'ok', 'ok', 'ok', {
    banned: 'BLOCKED',
    former: 'ok',
    stranger: 'ok',
    blocked: 'BLOCKED',
    foreign: 'NOT_FOUND',
  }),
  /** The other one is banned from the group, or refuses: those who may add at all are told so. */
  refusedTarget: inside('BLOCKED', 'BLOCKED', NO, NO),
  /** A block between the owner and the one to be added concerns the owner alone. */
  refusesTheOwner: inside('BLOCKED', 'ok', NO, NO),
} as const satisfies Record<string, Rule>;

/** In a group that was dismissed those who were its members at the end are told so, the others nothing. */
export const DISMISSED: Rule = inside('GROUP_DISMISSED', 'GROUP_DISMISSED', 'GROUP_DISMISSED', 'GROUP_DISMISSED');

/** There is no such group. */
export const MISSING: Rule = inside('NOT_MEMBER', 'NOT_MEMBER', 'NOT_MEMBER', 'NOT_MEMBER');

/**
 * How one stands to a private chat: a side of a plain one, one whom the other side has blocked, one who has blocked the
 * other side, somebody else, and a user of another tenant.
 */
export const SIDES = ['side', 'blocked', 'blocker', 'stranger', 'foreign'] as const;
export type Side = (typeof SIDES)[number];
export type SideRule = Readonly<Record<Side, Verdict>>;

const chat = (side: Verdict, blocked: Verdict = side): SideRule => ({
  side,
  blocked,
  blocker: blocked,
  stranger: 'NOT_MEMBER',
  foreign: 'NOT_MEMBER',
});

/** Who may do what in a private chat. */
export const CHAT_RULES = {
  /** What was said stays with both, and so does what each does for himself. */
  sides: chat('ok'),
  /** A block stops what is said anew, in either direction. */
  speech: chat('ok', 'BLOCKED'),
  /** Nobody touches what the other side said. */
  nobody: chat('FORBIDDEN'),
} as const satisfies Record<string, SideRule>;

/** What passes between two users apart from their chat. A user of another tenant is no user here. */
export const USER_RULES = {
  everybody: { side: 'ok', blocked: 'ok', blocker: 'ok', stranger: 'ok', foreign: 'NOT_FOUND' },
  unblocked: { side: 'ok', blocked: 'BLOCKED', blocker: 'BLOCKED', stranger: 'ok', foreign: 'NOT_FOUND' },
  /** Nothing is shown of one who is no user. */
  seen: { side: 'ok', blocked: 'BLOCKED', blocker: 'BLOCKED', stranger: 'ok', foreign: 'BLOCKED' },
  added: { side: 'ok', blocked: 'BLOCKED', blocker: 'BLOCKED', stranger: 'ok', foreign: 'VALIDATION_FAILED' },
} as const satisfies Record<string, SideRule>;
