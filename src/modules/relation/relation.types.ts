/** What one user may see of another one's presence. */
export interface PresenceSight {
  /** online, offline, devices */
  readonly presence: boolean;
  readonly lastSeen: boolean;
}

export const NO_SIGHT: PresenceSight = { presence: false, lastSeen: false };
export const FULL_SIGHT: PresenceSight = { presence: true, lastSeen: true };
