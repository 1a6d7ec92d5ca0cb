import { Injectable } from '@nestjs/common';
import { SignedCursors } from '../../platform/http/signed-cursors.js';
import type { Actor, UserId } from '../../platform/ids/ids.js';
import { TenantDataSources } from '../../platform/mysql/tenant-data-sources.js';
import { UserService } from '../user/user.service.js';
import type { UserProfile } from '../user/user.types.js';
import { selectList, selectRequests } from './relation.store.js';
import type { FriendRequest, RelationList, RequestDirection } from './relation.types.js';

export interface Page<T> {
  readonly items: T[];
  /** null on the last page */
  readonly nextCursor: string | null;
}

export interface PageRequest {
  readonly cursor?: string;
  readonly limit: number;
}

export interface RelationItem {
  readonly uid: UserId;
  readonly since: string;
  /** null when the account no longer exists */
  readonly user: UserProfile | null;
}

/** The own lists, page by page: friends, blocked, followed, requests. */
@Injectable()
export class RelationLists {
  constructor(
    private readonly sources: TenantDataSources,
    private readonly users: UserService,
    private readonly cursors: SignedCursors,
  ) {}

  /** @throws AppError VALIDATION_FAILED for a cursor of another list */
  async list(actor: Actor, list: RelationList, { cursor, limit }: PageRequest): Promise<Page<RelationItem>> {
    const name = JSON.stringify([list, actor.tenant, actor.uid]);
    const after = cursor === undefined ? '0' : this.cursors.read(name, cursor);
    const rows = await this.sources.run(actor.tenant, (db) =>
      selectList(db, list, actor.uid, { after, limit: limit + 1 }),
    );
    const shown = rows.slice(0, limit);
    const profiles = await this.users.publicProfiles(
      actor.tenant,
      shown.map((row) => row.other),
    );
    return {
      items: shown.map((row) => ({
        uid: row.other,
        since: row.created_at.toISOString(),
        user: profiles.get(row.other) ?? null,
      })),
      nextCursor: rows.length > limit ? this.cursors.write(name, shown[limit - 1].other) : null,
    };
  }

  /** Pending requests, newest first. @throws as `list` */
  async requests(
    actor: Actor,
    direction: RequestDirection,
    { cursor, limit }: PageRequest,
  ): Promise<Page<FriendRequest & { readonly user: UserProfile | null }>> {
    const name = JSON.stringify(['requests', direction, actor.tenant, actor.uid]);
    const before = cursor === undefined ? null : this.cursors.read(name, cursor);
    const rows = await this.sources.run(actor.tenant, (db) =>
      selectRequests(db, actor.uid, direction, { before, limit: limit + 1 }),
    );
    const shown = rows.slice(0, limit);
    const otherOf = (row: (typeof rows)[number]): UserId => (direction === 'incoming' ? row.from_uid : row.to_uid);
    const profiles = await this.users.publicProfiles(actor.tenant, shown.map(otherOf));
    return {
      items: shown.map((row) => ({
        id: row.id,
        from: row.from_uid,
        to: row.to_uid,
        message: row.message,
        state: row.state,
        createdAt: row.created_at.toISOString(),
        user: profiles.get(otherOf(row)) ?? null,
      })),
      nextCursor: rows.length > limit ? this.cursors.write(name, shown[limit - 1].id) : null,
    };
  }
}
