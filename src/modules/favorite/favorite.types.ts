import type { Seq, Topic } from '../../platform/ids/ids.js';
import type { Message } from '../messaging/messaging.types.js';

/** A message that a user keeps at hand: where it is, never what it says. */
export interface FavoriteRef {
  readonly id: string;
  readonly topic: Topic;
  readonly seq: Seq;
  readonly createdAt: string;
}

export interface Favorite extends FavoriteRef {
  /** As it is now for this reader; null when he may not read it any more. */
  readonly message: Message | null;
}

export interface FavoritesPage {
  readonly items: readonly Favorite[];
  /** Id of the last one when there are more. */
  readonly nextCursor: string | null;
}

/** To the own devices. */
export interface FavoriteChanged {
  readonly topic: Topic;
  readonly seq: Seq;
  readonly kept: boolean;
}

declare module '../../platform/socket/events.js' {
  interface ServerEvents {
    'favorite:changed': FavoriteChanged;
  }
}
