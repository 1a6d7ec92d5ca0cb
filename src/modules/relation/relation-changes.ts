import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { AppError, invalid } from '../../platform/errors/app-error.js';
import type { Actor, UserId } from '../../platform/ids/ids.js';
import { directTopic } from '../../platform/ids/topic.js';
import { TenantDataSources } from '../../platform/mysql/tenant-data-sources.js';
import { TopicService } from '../topic/topic.service.js';
import { UserService } from '../user/user.service.js';
import { RelationCaches } from './relation.redis.js';
import {
  countList,
  deleteBlock,
  deleteFollow,
  deleteFriends,
  insertBlock,
  insertFollow,
  insertFriends,
  isBlockedEitherWay,
  isFriend,
  lockPair,
  putRequest,
  requestById,
  requestOf,
  settleRequests,
} from './relation.store.js';
import type { RelationList, RequestState } from './relation.types.js';

/** Most entries of a user's list. */
const MOST: Readonly<Record<RelationList, number>> = { friends: 5000, blocklist: 1000, following: 5000 };

export interface AskedFriend {
  readonly id: string | null;
  /** `accepted`: they are friends now, because the other had asked before. */
  readonly state: 'pending' | 'accepted';
}

/**
 * Changes of how two users stand: one transaction that locks both users' rows, then the cached copies go. One that takes
 * something away is acknowledged only when they are gone; repeating it confirms it. Nothing of Redis undoes a change.
 */
@Injectable()
export class RelationChanges {
  constructor(
    private readonly sources: TenantDataSources,
    private readonly caches: RelationCaches,
    private readonly users: UserService,
    private readonly topics: TopicService,
  ) {}

  /**
   * Asks to be friends, or accepts what the other had asked. Asking twice is one request.
   * @throws AppError NOT_FOUND, BLOCKED (either way), CONFLICT (friends already, or a list is full)
   */
  async ask(actor: Actor, target: UserId, message: string): Promise<AskedFriend> {
    const asked = await this.change(actor, target, async (tx): Promise<AskedFriend> => {
      await this.refuseBlocked(tx, actor.uid, target);
      if (await isFriend(tx, actor.uid, target)) {
        throw new AppError('CONFLICT', { message: 'You are friends already.' });
      }
      if ((await requestOf(tx, target, actor.uid))?.state === 'pending') {
        await this.makeFriends(tx, actor.uid, target);
        return { id: null, state: 'accepted' };
      }
      const known = await requestOf(tx, actor.uid, target);
      if (known?.state !== 'pending') await putRequest(tx, actor.uid, target, message);
      return { id: (await requestOf(tx, actor.uid, target))?.id ?? null, state: 'pending' };
    });
    if (asked.state === 'accepted') {
      await this.caches.friends.invalidate(actor.tenant, [actor.uid, target]);
      this.sightChanged(actor, target);
    }
    return asked;
  }

  /** @throws AppError NOT_FOUND when the request is not addressed to the actor, CONFLICT when it was settled otherwise */
  async accept(actor: Actor, id: string): Promise<void> {
    const from = await this.settle(actor, id, 'accepted', async (tx, other) => {
      await this.refuseBlocked(tx, actor.uid, other);
      await this.makeFriends(tx, actor.uid, other);
    });
    await this.caches.friends.invalidate(actor.tenant, [actor.uid, from]);
    this.sightChanged(actor, from);
  }

  /** As `accept`. */
  async reject(actor: Actor, id: string): Promise<void> {
    await this.settle(actor, id, 'rejected', (tx, other) => settleRequests(tx, other, actor.uid, 'rejected'));
  }

  /** Takes a request of one's own back. @throws as `accept` */
  async withdraw(actor: Actor, id: string): Promise<void> {
    await this.settle(actor, id, 'withdrawn', (tx, other) => settleRequests(tx, actor.uid, other, 'withdrawn'));
  }

  /** Repeating it changes nothing. @throws AppError SHORT_STATE_UNAVAILABLE when it is stored and not yet confirmed */
  async unfriend(actor: Actor, target: UserId): Promise<void> {
    await this.change(actor, target, (tx) => deleteFriends(tx, actor.uid, target), false);
    const gone = await this.caches.friends.invalidate(actor.tenant, [actor.uid, target]);
    this.sightChanged(actor, target);
    confirmed(gone);
  }

  /** Ends requests and the other's following, too. @throws as `unfriend`, NOT_FOUND, CONFLICT (the list is full) */
  async block(actor: Actor, target: UserId): Promise<void> {
    await this.change(actor, target, async (tx) => {
      await insertBlock(tx, actor.uid, target);
      await this.refuseTooMany(tx, 'blocklist', actor.uid);
      await settleRequests(tx, actor.uid, target, 'rejected');
      await deleteFollow(tx, target, actor.uid);
      // Last, as everywhere: what is being sent in their chat has ended by the commit, and what comes later sees the block.
      await this.topics.raiseDirectAcl(tx, directTopic(actor.uid, target));
    });
    const gone = await Promise.all([
      this.caches.blocks.invalidate(actor.tenant, [actor.uid]),
      this.caches.follows.invalidate(actor.tenant, [target]),
    ]);
    this.sightChanged(actor, target);
    confirmed(gone.every(Boolean));
  }

  async unblock(actor: Actor, target: UserId): Promise<void> {
    await this.change(actor, target, (tx) => deleteBlock(tx, actor.uid, target), false);
    await this.caches.blocks.invalidate(actor.tenant, [actor.uid]);
    this.sightChanged(actor, target);
  }

  /** @throws AppError NOT_FOUND, BLOCKED, CONFLICT (the list is full) */
  async follow(actor: Actor, target: UserId): Promise<void> {
    await this.change(actor, target, async (tx) => {
      await this.refuseBlocked(tx, actor.uid, target);
      await insertFollow(tx, actor.uid, target);
      await this.refuseTooMany(tx, 'following', actor.uid);
    });
    await this.caches.follows.invalidate(actor.tenant, [actor.uid]);
  }

  async unfollow(actor: Actor, target: UserId): Promise<void> {
    await this.change(actor, target, (tx) => deleteFollow(tx, actor.uid, target), false);
    await this.caches.follows.invalidate(actor.tenant, [actor.uid]);
  }

  /** What the two may see of each other's presence has changed. */
  private sightChanged({ tenant, uid }: Actor, other: UserId): void {
    this.users.sightChanged(tenant, uid, other);
    this.users.sightChanged(tenant, other, uid);
  }

  /** @param mustBeThere false for what takes away: that works on users who are gone, too */
  private change<T>(
    actor: Actor,
    target: UserId,
    work: (tx: EntityManager) => Promise<T>,
    mustBeThere = true,
  ): Promise<T> {
    if (target === actor.uid) throw invalid('uid', 'must be the id of another user');
    return this.sources.run(actor.tenant, (db) =>
      db.transaction(async (tx) => {
        if (!(await lockPair(tx, actor.uid, target)) && mustBeThere) throw new AppError('NOT_FOUND');
        return work(tx);
      }),
    );
  }

  /** @returns the other one */
  private settle(
    actor: Actor,
    id: string,
    state: RequestState,
    work: (tx: EntityManager, other: UserId) => Promise<void>,
  ): Promise<UserId> {
    const own = state === 'withdrawn';
    return this.sources.run(actor.tenant, (db) =>
      db.transaction(async (tx) => {
        const request = await requestById(tx, id);
        if (!request || (own ? request.from_uid : request.to_uid) !== actor.uid) throw new AppError('NOT_FOUND');
        const other = own ? request.to_uid : request.from_uid;
        await lockPair(tx, actor.uid, other);
        const present = await requestById(tx, id);
        if (present?.state === state) return other;
        if (present?.state !== 'pending') {
          throw new AppError('CONFLICT', { message: `The request is ${present?.state ?? 'gone'} already.` });
        }
        await work(tx, other);
        return other;
      }),
    );
  }

  private async makeFriends(tx: EntityManager, a: UserId, b: UserId): Promise<void> {
    await insertFriends(tx, a, b);
    for (const uid of [a, b]) await this.refuseTooMany(tx, 'friends', uid);
    await settleRequests(tx, a, b, 'accepted');
  }

  private async refuseBlocked(tx: EntityManager, a: UserId, b: UserId): Promise<void> {
    if (await isBlockedEitherWay(tx, a, b)) throw new AppError('BLOCKED');
  }

  private async refuseTooMany(tx: EntityManager, list: RelationList, uid: UserId): Promise<void> {
    if ((await countList(tx, list, uid)) > MOST[list]) {
      throw new AppError('CONFLICT', { message: `A ${list} list holds at most ${MOST[list]}.` });
    }
  }
}

function confirmed(gone: boolean): void {
  if (gone) return;
  throw new AppError('SHORT_STATE_UNAVAILABLE', {
    message: 'The change is stored but not yet confirmed on all nodes; repeat the call.',
  });
}
