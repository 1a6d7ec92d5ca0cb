import { Injectable, type BeforeApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import type { Actor, TenantId, Topic, UserId } from '../../platform/ids/ids.js';
import type { ClientSocket } from '../../platform/socket/socket-client.js';
import { NodesView } from './nodes-view.js';
import { OnlineMembers, type LocalSubscriptions } from './online-members.js';
import { PresenceQuery } from './presence-query.js';
import type { NodeInfo, Presence } from './presence.types.js';
import { SocketPresence } from './socket-presence.js';

/** Who is there: users, members of topics, nodes. What the rest of the product asks about it goes through here. */
@Injectable()
export class PresenceService implements OnModuleInit, BeforeApplicationShutdown {
  constructor(
    private readonly nodes: NodesView,
    private readonly sockets: SocketPresence,
    private readonly members: OnlineMembers,
    private readonly query: PresenceQuery,
  ) {}

  onModuleInit(): void {
    this.nodes.onOthersGone(() => this.sockets.recheck());
  }

  /** After the sockets are closed and before Redis is: presence is cleared, and the node is one no more. */
  async beforeApplicationShutdown(): Promise<void> {
    await this.members.flush();
    await this.sockets.finish(await this.nodes.othersLive());
    await this.nodes.end();
  }

  get nodeId(): string {
    return this.nodes.nodeId;
  }

  /** Do the other nodes take this one for living? Without that it must not deliver. */
  get leaseStands(): boolean {
    return this.nodes.leaseStands;
  }

  /** @throws RedisUnavailable */
  livingNodes(): Promise<string[]> {
    return this.nodes.living();
  }

  /** All nodes, for operators: dead ones too, until they are cleared. @throws RedisUnavailable */
  describeNodes(): Promise<NodeInfo[]> {
    return this.nodes.describe();
  }

  onLeaseLost(listener: () => void): void {
    this.nodes.onLeaseLost(listener);
  }

  onOthersGone(listener: (nodes: string[]) => void): void {
    this.nodes.onOthersGone(listener);
  }

  countConnections(count: () => number): void {
    this.nodes.countConnections(count);
  }

  /**
   * Has every living node carry out a request and waits for it.
   * @returns false when a living node did not confirm in time
   * @throws RedisUnavailable when the nodes cannot be asked
   */
  askLivingNodes(kind: string, payload: unknown, timeoutMs?: number): Promise<boolean> {
    return this.nodes.askAll(kind, payload, timeoutMs);
  }

  /** A socket is there. Returns when its presence is written, or it is certain that it will be later. Never throws. */
  socketOpened(client: ClientSocket): Promise<void> {
    return this.sockets.opened(client);
  }

  /** A socket that was opened is gone. */
  socketClosed(client: ClientSocket): void {
    this.sockets.closed(client);
  }

  /** Who is online, as far as the actor may see it. @throws AppError STORAGE_UNAVAILABLE */
  presences(actor: Actor, uids: readonly UserId[]): Promise<Presence[]> {
    return this.query.presences(actor.tenant, actor.uid, uids);
  }

  /** Says where this node's subscriptions are known. */
  useSubscriptions(local: LocalSubscriptions): void {
    this.members.useLocal(local);
  }

  /** A member's first socket on this node joined a topic, or his last one left it. */
  memberChanged(tenant: TenantId, topic: Topic, uid: UserId, online: boolean): void {
    this.members.changed(tenant, topic, uid, online);
  }

  /** Members of a topic who are online: exact in small groups, at most 10 s old in big ones; null = unknown. */
  onlineCount(tenant: TenantId, topic: Topic): Promise<number | null> {
    return this.members.count(tenant, topic);
  }

  /** Those of some members who are not online in the topic; null = unknown, then nobody may be taken for offline. */
  offlineMembers(tenant: TenantId, topic: Topic, uids: readonly UserId[]): Promise<UserId[] | null> {
    return this.members.offline(tenant, topic, uids);
  }
}
