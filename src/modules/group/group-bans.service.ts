import { Injectable } from '@nestjs/common';
import { AppError, invalid } from '../../platform/errors/app-error.js';
import { SignedCursors } from '../../platform/http/signed-cursors.js';
import type { Actor, Topic, UserId } from '../../platform/ids/ids.js';
import { groupIdOf } from '../../platform/ids/topic.js';
import { TenantDataSources } from '../../platform/mysql/tenant-data-sources.js';
import { GroupAnnouncer } from './group-announcer.js';
import { deleteBan, putBan, selectBans } from './group-bans.store.js';
import { GroupChanges } from './group-changes.js';
import { GroupService } from './group.service.js';
import { countMembers, lockMembers, removeMember, unusableUsers } from './group.store.js';
import { settleJoinRequests } from './group-joins.store.js';
import { mayActOn } from './group.types.js';

export interface Ban {
  readonly uid: UserId;
  /** ISO 8601; null = for good */
  readonly until: string | null;
  readonly reason: string;
  readonly by: UserId;
  readonly createdAt: string;
}

/** Who is kept out of a group. */
@Injectable()
export class GroupBansService {
  constructor(
    private readonly databases: TenantDataSources,
    private readonly groups: GroupService,
    private readonly changes: GroupChanges,
    private readonly announcer: GroupAnnouncer,
    private readonly cursors: SignedCursors,
  ) {}

  /**
   * Keeps a user out, and takes him out if he is in. Repeating a stored call confirms it again and succeeds.
   * @param until null = for good
   * @throws AppError SHORT_STATE_UNAVAILABLE when it is stored and not every node has confirmed it yet
   */
  async ban(actor: Actor, topic: Topic, target: UserId, until: Date | null, reason: string): Promise<void> {
    if (target === actor.uid) throw invalid('uid', 'must be the id of another user');
    const removed = await this.changes.run(
      actor,
      topic,
      async ({ tx, group, permit, audit }) => {
        const role = await permit('ban');
        const row = (await lockMembers(tx, group.id, [target])).get(target);
        if (!row && (await unusableUsers(tx, [target])).length > 0) throw new AppError('NOT_FOUND');
        const isMember = row?.state === 'active';
        if (isMember && !mayActOn(role, row.role)) throw new AppError('FORBIDDEN');
        await putBan(tx, group.id, { uid: target, by: actor.uid, until, reason });
        await settleJoinRequests(tx, group.id, [target], 'rejected', actor.uid);
        await audit('group.ban', { uid: target, until });
        if (!isMember) return false;
        await removeMember(tx, group.id, target, 'kicked');
        await countMembers(tx, group.id, -1);
        return true;
      },
      undefined,
      [target],
    );
    await this.announcer.removed(actor, topic, [target], 'kicked', removed);
  }

  /** Lets a user come again; he is no member by it. */
  async unban(actor: Actor, topic: Topic, target: UserId): Promise<void> {
    await this.changes.run(actor, topic, async ({ tx, group, permit, audit }) => {
      await permit('ban');
      await deleteBan(tx, group.id, target);
      await audit('group.unban', { uid: target });
    });
  }

  /** Bans in force. */
  async list(
    actor: Actor,
    topic: Topic,
    { cursor, limit }: { readonly cursor?: string; readonly limit: number },
  ): Promise<{ items: Ban[]; nextCursor: string | null }> {
    const name = JSON.stringify(['bans', actor.tenant, topic]);
    const after = cursor === undefined ? '0' : this.cursors.read(name, cursor);
    const rows = await this.databases.run(actor.tenant, async (db) => {
      await this.groups.permit(db, actor.uid, topic, 'ban');
      return selectBans(db, groupIdOf(topic), { after, limit: limit + 1 });
    });
    const items = rows.slice(0, limit).map((row) => ({
      uid: row.uid,
      until: row.banned_until?.toISOString() ?? null,
      reason: row.reason,
      by: row.created_by,
      createdAt: row.created_at.toISOString(),
    }));
    return { items, nextCursor: rows.length > limit ? this.cursors.write(name, rows[limit - 1].uid) : null };
  }
}
