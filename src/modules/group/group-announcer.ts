import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { AppError } from '../../platform/errors/app-error.js';
import type { Actor, TenantId, Topic, UserId } from '../../platform/ids/ids.js';
import { Logger } from '../../platform/observe/logger.js';
import { topicRoom, userRoom } from '../../platform/socket/rooms.js';
import { SocketServer } from '../../platform/socket/socket-server.js';
import { PresenceService } from '../presence/presence.service.js';
import { AccessInvalidation } from './access-invalidation.js';
import type { GroupChanged } from './group.types.js';

/** A node that does not confirm a join costs its members a catch-up, not the caller his answer. */
const JOIN_WAIT_MS = 3_000;
const FOLLOW_PAUSE_MS = 500;
/** Changes of members that are followed at the same time in one node. */
const MOST_FOLLOWED = 1_000;

type Change = Omit<GroupChanged, 'topic' | 'actor'>;

/**
 * What follows a committed change of a group, in this order: access records go, the nodes are told, clients hear of it.
 * Nothing here can undo the change.
 */
@Injectable()
export class GroupAnnouncer implements OnApplicationShutdown {
  private following = 0;
  private stopped = false;

  constructor(
    private readonly invalidation: AccessInvalidation,
    private readonly presence: PresenceService,
    private readonly sockets: SocketServer,
    private readonly log: Logger,
  ) {}

  /** A change that moves nobody in or out. */
  async changed(actor: Actor, topic: Topic, ...changes: Change[]): Promise<void> {
    await this.invalidation.invalidate(actor.tenant, topic);
    for (const change of changes) this.tellTopic(actor, topic, change);
  }

  /** Their sockets hear the topic from now on, the event included: each of them once. */
  async joined(actor: Actor, topic: Topic, uids: readonly UserId[]): Promise<void> {
    const gone = await this.invalidation.invalidate(actor.tenant, topic, uids);
    const joining = this.ask('topic:join', actor, topic, { uids });
    const late = new Promise((resolve) => setTimeout(resolve, JOIN_WAIT_MS).unref());
    await Promise.race([joining, late]);
    this.tellTopic(actor, topic, { kind: 'joined', targets: uids });
    if (!gone) void this.follow(actor.tenant, topic, uids);
  }

  /**
   * Returns when no socket of theirs hears the topic any more, on any node. They hear of it themselves after they are out,
   * so that each socket does once.
   * @param first false when the change was stored by an earlier call: then it was told already
   * @throws AppError SHORT_STATE_UNAVAILABLE when not every node confirmed
   */
  async removed(
    actor: Actor,
    topic: Topic,
    uids: readonly UserId[],
    kind: 'left' | 'kicked',
    first: boolean,
  ): Promise<void> {
    const invalidated = await this.invalidation.invalidate(actor.tenant, topic, uids);
    const confirmed = await this.ask('topic:leave', actor, topic, { uids });
    if (first) {
      const change: Change = { kind, targets: uids };
      this.tellTopic(actor, topic, change);
      for (const uid of uids) this.tell(userRoom(actor.tenant, uid), actor, topic, change);
    }
    if (!invalidated || !confirmed) throw unconfirmed();
  }

  /**
   * The members hear of it while they are still in the topic's room; then nobody is.
   * @param members all of them
   * @throws AppError SHORT_STATE_UNAVAILABLE when not every node confirmed
   */
  async dismissed(actor: Actor, topic: Topic, members: readonly UserId[], first: boolean): Promise<void> {
    const invalidated = await this.invalidation.invalidate(actor.tenant, topic, members);
    if (first) this.tellTopic(actor, topic, { kind: 'dismissed' });
    const confirmed = await this.ask('topic:close', actor, topic, {});
    if (!invalidated || !confirmed) throw unconfirmed();
  }

  /**
   * After a change of unknown outcome: what is stored counts, on every node, and clients are told to ask for it.
   * @param uids whom it may have brought in or out
   * @param dismissed the members, if the group has ended; else null
   */
  async reread(
    tenant: TenantId,
    topic: Topic,
    uids: readonly UserId[],
    dismissed: readonly UserId[] | null,
  ): Promise<void> {
    await this.invalidation.invalidate(tenant, topic, dismissed ?? uids);
    // A request to leave is a request to read again: whoever is a member comes back.
    if (uids.length > 0) await this.ask('topic:leave', { tenant }, topic, { uids });
    const rooms = [topicRoom(tenant, topic), ...uids.map((uid) => userRoom(tenant, uid))];
    for (const room of rooms)
      this.emit(tenant, topic, () => this.sockets.emit(room, 'topic:resync', { topics: [topic] }));
    if (dismissed) await this.ask('topic:close', { tenant }, topic, {});
  }

  onApplicationShutdown(): void {
    this.stopped = true;
  }

  /**
   * Redis did not take the removal of the new members' lists: a connection that is made just when it is back may still
   * read the old ones. When they are gone, the nodes look again, and the new members are told to ask.
   */
  private async follow(tenant: TenantId, topic: Topic, uids: readonly UserId[]): Promise<void> {
    if (this.following >= MOST_FOLLOWED) return;
    this.following += 1;
    try {
      for (let gone = false; !gone && !this.stopped;) {
        await new Promise((resolve) => setTimeout(resolve, FOLLOW_PAUSE_MS).unref());
        gone = await this.invalidation.invalidate(tenant, topic, uids);
      }
      if (!this.stopped) await this.reread(tenant, topic, uids, null);
    } finally {
      this.following -= 1;
    }
  }

  private async ask(kind: string, actor: Pick<Actor, 'tenant'>, topic: Topic, more: object): Promise<boolean> {
    const { tenant } = actor;
    try {
      if (await this.presence.askLivingNodes(kind, { tenant, topic, ...more })) return true;
      this.log.warn({ tenant, topic, kind }, 'not every node confirmed a change of members in time');
    } catch (error) {
      this.log.warn({ tenant, topic, kind, error: (error as Error).message }, 'the nodes could not be asked');
    }
    return false;
  }

  private tellTopic(actor: Actor, topic: Topic, change: Change): void {
    this.tell(topicRoom(actor.tenant, topic), actor, topic, change);
  }

  private tell(room: string, actor: Actor, topic: Topic, change: Change): void {
    this.emit(actor.tenant, topic, () =>
      this.sockets.emit(room, 'group:changed', { topic, actor: actor.uid, ...change }),
    );
  }

  private emit(tenant: TenantId, topic: Topic, send: () => void): void {
    try {
      send();
    } catch (error) {
      this.log.warn({ tenant, topic, error: (error as Error).message }, 'a change was not told');
    }
  }
}

function unconfirmed(): AppError {
  return new AppError('SHORT_STATE_UNAVAILABLE', {
    message: 'The change is stored but not yet confirmed on all nodes; repeat the call.',
  });
}
