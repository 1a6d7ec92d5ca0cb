import { Injectable } from '@nestjs/common';
import { AppError } from '../../platform/errors/app-error.js';
import type { Actor, TenantId, Topic, UserId } from '../../platform/ids/ids.js';
import { parseTopic } from '../../platform/ids/topic.js';
import { aFewAtATime } from '../../platform/mysql/a-few-at-a-time.js';
import { Coalesced } from '../../platform/mysql/coalesced.js';
import { GroupService } from '../group/group.service.js';
import type { HistoryPage } from '../group-message/group-message.types.js';
import { MessagingService } from '../messaging/messaging.service.js';
import { PresenceService } from '../presence/presence.service.js';
import { UserService } from '../user/user.service.js';
import { compareTopics, ConversationTopics } from './conversation-topics.js';
import type { Conversation, ConversationHead, ConversationPage, UnreadAnswer } from './conversation.types.js';
import { CursorStore, NO_CURSOR } from './cursor.store.js';
import { DEFAULT_SETTINGS, SettingsStore } from './settings.store.js';
import { UnreadService } from './unread.service.js';

/** One page of a user's conversations, without what was said in them. */
export interface HeadsPage {
  readonly heads: readonly ConversationHead[];
  readonly nextCursor: Topic | null;
}

/** A user's conversations, each with its newest message as this reader may see it. */
@Injectable()
export class ConversationService {
  private readonly counting = new Coalesced<UnreadAnswer>();

  constructor(
    private readonly topics: ConversationTopics,
    private readonly groups: GroupService,
    private readonly users: UserService,
    private readonly presence: PresenceService,
    private readonly messaging: MessagingService,
    private readonly cursors: CursorStore,
    private readonly settings: SettingsStore,
    private readonly counts: UnreadService,
  ) {}

  /** One that ended between two pages is missing, none comes twice. */
  async list(actor: Actor, cursor: Topic | undefined, limit: number): Promise<ConversationPage> {
    const { heads, nextCursor } = await this.heads(actor, cursor, limit);
    return { items: await this.compose(actor, heads), nextCursor };
  }

  async heads(actor: Actor, cursor: Topic | undefined, limit: number): Promise<HeadsPage> {
    const { tenant, uid } = actor;
    const all = await this.topics.of(tenant, uid);
    const rest = cursor === undefined ? all : all.filter((topic) => compareTopics(topic, cursor) > 0);
    const topics = rest.slice(0, limit);
    const peers = new Map(topics.flatMap((topic) => peerOf(topic, uid) ?? []).map((peer) => [peer.topic, peer.uid]));
    const groups = topics.filter((topic) => parseTopic(topic)?.kind === 'group');
    const [names, profiles, cursors, settings, unread] = await Promise.all([
      groups.length === 0 ? new Map<Topic, string>() : this.groups.namesOf(tenant, groups),
      this.users.publicProfiles(tenant, [...peers.values()]),
      this.cursors.cursors(tenant, uid, topics),
      this.settings.of(tenant, uid, topics),
      this.counts.of(tenant, uid, topics),
    ]);
    const heads = topics.map((topic): ConversationHead => {
      const peer = profiles.get(peers.get(topic) as UserId);
      return {
        topic,
        name: names.get(topic) ?? peer?.nickname ?? '',
        ...(cursors.get(topic) ?? NO_CURSOR),
        ...unread.get(topic)!,
        ...(settings.get(topic) ?? DEFAULT_SETTINGS),
        ...(peer ? { peer } : {}),
      };
    });
    return { heads, nextCursor: rest.length > limit ? topics[topics.length - 1] : null };
  }

  /** Adds what was said last and who is there, as they are now. */
  async compose(actor: Actor, heads: readonly ConversationHead[]): Promise<Conversation[]> {
    const peers = heads.flatMap(({ peer }) => peer?.uid ?? []);
    const presences = peers.length === 0 ? [] : await this.presence.presences(actor, [...new Set(peers)]);
    const byUid = new Map(presences.map((presence) => [presence.uid, presence]));
    const items = await aFewAtATime(heads, async (head): Promise<Conversation[]> => {
      const page = await this.newest(actor, head.topic);
      if (!page) return [];
      const presence = head.peer && byUid.get(head.peer.uid);
      const lastMessage = page.messages[0] ?? null;
      return [{ ...head, lastSeq: page.lastSeq, lastMessage, ...(presence ? { presence } : {}) }];
    });
    return items.flat();
  }

  /** How far the user has read each topic. */
  async readSeqs({ tenant, uid }: Actor, topics: readonly Topic[]): Promise<Map<Topic, number>> {
    const cursors = await this.cursors.cursors(tenant, uid, topics);
    return new Map([...cursors].map(([topic, { readSeq }]) => [topic, readSeq]));
  }

  /** Many who ask at once, as devices of one user do when he reads, share the next count. */
  unread({ tenant, uid }: Actor): Promise<UnreadAnswer> {
    return this.counting.run(`${tenant} ${uid}`, () => this.countUnread(tenant, uid));
  }

  private async countUnread(tenant: TenantId, uid: UserId): Promise<UnreadAnswer> {
    const counts = await this.counts.of(tenant, uid, await this.topics.of(tenant, uid));
    const topics = [...counts].filter(([, { unread }]) => unread > 0).map(([topic, count]) => ({ topic, ...count }));
    return { totalUnread: topics.reduce((sum, { unread }) => sum + unread, 0), topics };
  }

  /** Null when the topic has ended for him since the list was read. */
  private async newest(actor: Actor, topic: Topic): Promise<HistoryPage | null> {
    try {
      return await this.messaging.history(actor, topic, { limit: 1 });
    } catch (error) {
      if (error instanceof AppError && (error.code === 'NOT_MEMBER' || error.code === 'GROUP_DISMISSED')) return null;
      throw error;
    }
  }
}

/** The other side of a private chat. */
function peerOf(topic: Topic, uid: UserId): { readonly topic: Topic; readonly uid: UserId } | null {
  const parts = parseTopic(topic);
  return parts?.kind === 'p2p' ? { topic, uid: parts.low === uid ? parts.high : parts.low } : null;
}
