import type { UserId } from '../../platform/ids/ids.js';

/** What a code is good for; it is good for nothing else. */
export const SCENES = ['register', 'login', 'reset', 'bind'] as const;
export type Scene = (typeof SCENES)[number];

/** Wrong tries until a code is burnt, the last one included. */
export const MAX_TRIES = 5;

export interface CaptchaRequest {
  readonly scene: Scene;
  /** As the user typed it. */
  readonly phone: string;
  /** The client's address, as limits count it. */
  readonly address: string;
  /** What the same client shows again when it asks once more: its login token or its session. */
  readonly client: string;
  readonly deviceId?: string;
  /** Who binds the phone; only for the scene bind. */
  readonly uid?: UserId;
}

/** Answer to a request for a code. */
export interface CaptchaTicket {
  /** `<tenantId>.<22 characters>`; cannot be guessed. */
  readonly captchaId: string;
  /** Seconds until another code may be asked for. */
  readonly resendAfter: number;
  /** Seconds that this code is good for. */
  readonly expiresIn: number;
}

/** What a spent action token proves. */
export interface ActionProof {
  /** Keyed hash of the phone whose code was verified. */
  readonly phoneHash: Buffer;
}
