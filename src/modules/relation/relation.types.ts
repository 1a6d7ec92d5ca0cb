import type { UserId } from '../../platform/ids/ids.js';

/** What one user may see of another one's presence. */
export interface PresenceSight {
  /** online, offline, devices */
  readonly presence: boolean;
  readonly lastSeen: boolean;
}

export const NO_SIGHT: PresenceSight = { presence: false, lastSeen: false };
export const FULL_SIGHT: PresenceSight = { presence: true, lastSeen: true };

/** The lists that a user keeps of others. */
export type RelationList = 'friends' | 'blocklist' | 'following';

export type RequestDirection = 'incoming' | 'outgoing';
export type RequestState = 'pending' | 'accepted' | 'rejected' | 'withdrawn';

export interface FriendRequest {
  readonly id: string;
  readonly from: UserId;
  readonly to: UserId;
  readonly message: string;
  readonly state: RequestState;
  readonly createdAt: string;
}

/** How two users stand, as far as the one who asks may know. Whether the other has blocked him is told by doors alone. */
export interface RelationContext {
  readonly uid: UserId;
  readonly isFriend: boolean;
  readonly iBlocked: boolean;
  readonly iFollow: boolean;
  readonly canStartChat: boolean;
  readonly canSeePresence: boolean;
  readonly canSeeLastSeen: boolean;
}
