import type { Topic, UserId } from '../../platform/ids/ids.js';
import type { Message } from '../group-message/group-message.types.js';
import type { Presence } from '../presence/presence.types.js';
import type { OwnProfile, UserProfile } from '../user/user.types.js';

/** A user's own settings of a conversation. */
export interface ConversationSettings {
  /** He wants no notice of it. */
  readonly muted: boolean;
  readonly pinned: boolean;
}

/** A conversation without what was said in it. */
export interface ConversationHead extends ConversationSettings {
  readonly topic: Topic;
  /** Of the group, or the nickname of the other side; empty for the file assistant. */
  readonly name: string;
  readonly readSeq: number;
  readonly receivedSeq: number;
  readonly unread: number;
  /** Is the user mentioned in an unread message? */
  readonly mentioned: boolean;
  /** The other side of a private chat. */
  readonly peer?: UserProfile;
}

export interface Conversation extends ConversationHead {
  readonly lastSeq: number;
  readonly lastMessage: Message | null;
  /** Of the other side of a private chat. */
  readonly presence?: Presence;
}

export interface ConversationPage {
  readonly items: readonly Conversation[];
  readonly nextCursor: Topic | null;
}

/** What is kept of the first screen: no bodies, no presence. */
export interface FirstScreen {
  readonly user: OwnProfile;
  readonly items: readonly ConversationHead[];
  readonly nextCursor: Topic | null;
  readonly totalUnread: number;
}

export interface Bootstrap {
  readonly user: OwnProfile;
  readonly topics: ConversationPage;
  readonly totalUnread: number;
  readonly serverTime: string;
}

export interface UnreadAnswer {
  readonly totalUnread: number;
  /** Conversations with unread messages. */
  readonly topics: readonly { readonly topic: Topic; readonly unread: number; readonly mentioned: boolean }[];
}

export interface CursorChange {
  readonly topic: Topic;
  readonly uid: UserId;
  readonly readSeq?: number;
  readonly receivedSeq?: number;
}

declare module '../../platform/socket/events.js' {
  interface ServerEvents {
    'topic:cursor': CursorChange;
  }
}
