import { AppError, type ErrorDetail } from '../../platform/errors/app-error.js';
import type { UserId } from '../../platform/ids/ids.js';
import { bannedOf } from './group-bans.store.js';
import type { OpenChange } from './group-changes.js';
import { countMembers, insertMembers, lockMembers, reviveMembers, unusableUsers } from './group.store.js';

export interface AddedMembers {
  /** Those who were no members before this call. */
  readonly added: readonly UserId[];
  readonly memberCount: number;
}

/**
 * Makes users members of the locked group; those who are already stay as they are, one who comes back starts clean. The
 * only way into a group that exists: by an admin, an approved request or an invite.
 * @param most members that the tenant allows
 * @param keepsMutes true unless an admin adds them of his own accord: nobody ends a mute by leaving and coming back
 * @throws AppError VALIDATION_FAILED (unknown or disabled users), BLOCKED (banned users), each in the details; CONFLICT
 *   (the group is full)
 */
export async function admit(
  change: OpenChange,
  uids: readonly UserId[],
  most: number,
  keepsMutes: boolean,
): Promise<AddedMembers> {
  const { tx, group } = change;
  const unusable = new Set(await unusableUsers(tx, uids));
  if (unusable.size > 0) throw unusableError('uids', uids, unusable);
  const known = await lockMembers(tx, group.id, uids);
  const added = uids.filter((uid) => known.get(uid)?.state !== 'active');
  const banned = await bannedOf(tx, group.id, added);
  if (banned.size > 0) throw refusedError(uids, banned, 'is banned from this group');
  const memberCount = group.memberCount + added.length;
  if (added.length > 0 && memberCount > most) {
    throw new AppError('CONFLICT', { message: `A group holds at most ${most} members here.` });
  }
  await insertMembers(
    tx,
    group.id,
    added.filter((uid) => !known.has(uid)),
    'member',
  );
  await reviveMembers(
    tx,
    group.id,
    added.filter((uid) => known.has(uid)),
    keepsMutes,
  );
  if (added.length > 0) await countMembers(tx, group.id, added.length);
  return { added, memberCount };
}

/** Names each place in the request that holds no usable user. */
export function unusableError(field: string, uids: readonly UserId[], unusable: ReadonlySet<UserId>): AppError {
  const details = placesOf(field, uids, unusable, 'is no active user of this tenant');
  return new AppError('VALIDATION_FAILED', { message: 'Some of these users do not exist or are disabled.', details });
}

/** Names each place in the request that holds a user who cannot be added. */
export function refusedError(uids: readonly UserId[], refusing: ReadonlySet<UserId>, why: string): AppError {
  const details = placesOf('uids', uids, refusing, why);
  return new AppError('BLOCKED', { message: 'Some of these users cannot be added.', details });
}

function placesOf(field: string, uids: readonly UserId[], which: ReadonlySet<UserId>, why: string): ErrorDetail[] {
  return uids.flatMap((uid, index) =>
    which.has(uid) ? [{ field: `${field}[${index}]`, problem: `${uid} ${why}` }] : [],
  );
}
