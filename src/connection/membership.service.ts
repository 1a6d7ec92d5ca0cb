import { Injectable, type OnModuleInit } from '@nestjs/common';
import { GroupService } from '../modules/group/group.service.js';
import { AppError } from '../platform/errors/app-error.js';
import type { TenantId, Topic, UserId } from '../platform/ids/ids.js';
import { Logger } from '../platform/observe/logger.js';
import { NodeBus } from '../platform/redis/node-bus.js';
import { isMembersRoom, topicRoom } from '../platform/socket/rooms.js';
import type { ClientSocket } from '../platform/socket/socket-client.js';
import { SocketServer } from '../platform/socket/socket-server.js';
import { LocalSockets } from './local-sockets.js';

interface MembersRequest {
  readonly tenant: TenantId;
  readonly topic: Topic;
  readonly uids: readonly UserId[];
}

/** Decisions that are taken anew before somebody who changes all the time is turned away. */
const MAX_DECISIONS = 20;
/** Sockets whose memberships are read at the same time; a tenant's other queries need connections, too. */
const REREAD_AT_ONCE = 8;

/**
 * Which of this node's sockets hear which topic. Every request about a user's membership raises his sockets'
 * `membershipChanges`; a join is carried out only if that number is still what it was before the membership was read, and
 * in the same turn of the event loop. So a socket can neither slip in behind a kick nor miss being added.
 */
@Injectable()
export class MembershipService implements OnModuleInit {
  constructor(
    private readonly groups: GroupService,
    private readonly local: LocalSockets,
    private readonly sockets: SocketServer,
    private readonly bus: NodeBus,
    private readonly log: Logger,
  ) {}

  onModuleInit(): void {
    this.bus.handle<MembersRequest>('topic:join', (request) => this.onJoin(request));
    this.bus.handle<MembersRequest>('topic:leave', (request) => this.onLeave(request));
    this.bus.handle<Omit<MembersRequest, 'uids'>>('topic:close', (request) => this.onClose(request));
  }

  /** Joins a socket to all topics of its user. @returns how many they are */
  async joinAll(client: ClientSocket): Promise<number> {
    const { tenant, uid } = client.data.actor;
    const topics = await this.decided(
      client,
      (again) => (again ? this.groups.topicsFromMysql(tenant, uid) : this.groups.topicsOf(tenant, uid)),
      (found) => void client.join(found.map((topic) => topicRoom(tenant, topic))),
    );
    return topics.length;
  }

  /** Joins one topic if `check` allows it; what it throws is the caller's answer. */
  async join<T>(client: ClientSocket, topic: Topic, check: () => Promise<T>): Promise<T> {
    const room = topicRoom(client.data.actor.tenant, topic);
    return this.decided(client, check, () => void client.join(room));
  }

  /**
   * Reads all memberships of this node's sockets of one tenant again, leaves what is gone and joins what is new. What was
   * being read when this was called is decided anew: it may be older than a change that this node was not told of.
   */
  async reread(tenant: TenantId): Promise<void> {
    const clients = this.local.ofTenant(tenant);
    for (const client of clients) client.data.membershipChanges += 1;
    for (let first = 0; first < clients.length; first += REREAD_AT_ONCE) {
      await Promise.all(clients.slice(first, first + REREAD_AT_ONCE).map((client) => this.rereadOne(client)));
    }
    await this.sockets.subscribed();
  }

  private async rereadOne(client: ClientSocket): Promise<void> {
    const { tenant, uid } = client.data.actor;
    await this.decided(
      client,
      () => this.groups.topicsFromMysql(tenant, uid),
      (topics) => {
        const rooms = new Set(topics.map((topic) => topicRoom(tenant, topic)));
        for (const room of client.rooms) if (isMembersRoom(room) && !rooms.has(room)) void client.leave(room);
        if (client.data.subscribe === 'all' && client.connected) void client.join([...rooms]);
      },
    );
  }

  /**
   * Runs `read` until no change of membership came in between, then `act` on it: without an await after the comparison,
   * since even the next microtask may be a kick's.
   * @param read told whether it is asked again, because of a change that a cached copy may not know yet
   */
  private async decided<T>(
    client: ClientSocket,
    read: (again: boolean) => Promise<T>,
    act: (result: T) => void,
  ): Promise<T> {
    for (let decision = 0; decision < MAX_DECISIONS; decision += 1) {
      const before = client.data.membershipChanges;
      const result = await read(decision > 0);
      if (client.data.membershipChanges !== before) continue;
      act(result);
      return result;
    }
    throw new AppError('OVERLOADED', { retryAfterMs: 1000 });
  }

  private async onJoin({ tenant, topic, uids }: MembersRequest): Promise<void> {
    await this.bring(tenant, topic, this.affected(tenant, uids));
  }

  private onLeave({ tenant, topic, uids }: MembersRequest): void {
    const room = topicRoom(tenant, topic);
    const affected = this.affected(tenant, uids);
    for (const client of affected) void client.leave(room);
    // The request may be older than a new membership: whoever is a member again comes back.
    this.bring(tenant, topic, affected).catch((error: Error) => {
      this.log.warn({ tenant, topic, error: error.message }, 'memberships were not read again after a leave');
    });
  }

  private onClose({ tenant, topic }: Omit<MembersRequest, 'uids'>): void {
    for (const client of this.local.ofTenant(tenant)) client.data.membershipChanges += 1;
    const room = topicRoom(tenant, topic);
    for (const client of this.sockets.localSockets(room)) void client.leave(room);
  }

  private affected(tenant: TenantId, uids: readonly UserId[]): ClientSocket[] {
    const clients = uids.flatMap((uid) => this.local.ofUser(tenant, uid));
    for (const client of clients) client.data.membershipChanges += 1;
    return clients;
  }

  /** Joins those sockets whose users are members now. */
  private async bring(tenant: TenantId, topic: Topic, clients: readonly ClientSocket[]): Promise<void> {
    let wanting = clients.filter((client) => client.data.subscribe === 'all' && client.connected);
    // A request about another topic raises the same number: whoever changed meanwhile is looked at again. What is read is
    // the present membership, so repeating it is always right.
    for (let decision = 0; wanting.length > 0 && decision < MAX_DECISIONS; decision += 1) {
      wanting = await this.bringOnce(tenant, topic, wanting);
    }
    await this.sockets.subscribed();
  }

  /** @returns the sockets whose memberships changed while they were read */
  private async bringOnce(tenant: TenantId, topic: Topic, wanting: readonly ClientSocket[]): Promise<ClientSocket[]> {
    const changes = wanting.map((client) => client.data.membershipChanges);
    const uids = [...new Set(wanting.map((client) => client.data.actor.uid))];
    const members = new Set(await this.groups.activeMembers(tenant, topic, uids));
    const room = topicRoom(tenant, topic);
    return wanting.filter((client, index) => {
      if (client.data.membershipChanges !== changes[index]) return client.connected;
      if (members.has(client.data.actor.uid)) void client.join(room);
      return false;
    });
  }
}
