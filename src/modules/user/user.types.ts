import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import type { UserId } from '../../platform/ids/ids.js';

export const GENDERS = ['male', 'female', 'other'] as const;

/** What everybody in the tenant may see of a user. */
export interface UserProfile {
  readonly uid: UserId;
  readonly nickname: string;
  readonly avatar: string;
  readonly signature: string;
  readonly gender?: string;
  readonly region?: string;
}

/** What everybody in the tenant may see of a user, as it goes out. */
export class UserView {
  @ApiProperty({ example: '1', description: 'decimal id' })
  uid: string;

  @ApiProperty()
  nickname: string;

  @ApiProperty({ description: 'empty when there is none' })
  avatar: string;

  @ApiProperty({ description: 'empty when there is none' })
  signature: string;

  @ApiPropertyOptional({ enum: GENDERS })
  gender?: string;

  @ApiPropertyOptional()
  region?: string;
}

export const AUDIENCES = ['everyone', 'friends', 'nobody'] as const;
export type Audience = (typeof AUDIENCES)[number];

/** Whom a user lets see and do what. */
export interface Privacy {
  /** Who sees whether he is online. */
  readonly presence: Audience;
  readonly lastSeen: Audience;
  /** Who may add him to groups without asking. */
  readonly addToGroups: Audience;
}

/** What the user sees of himself. */
export interface OwnProfile extends UserProfile {
  readonly account: string;
  readonly privacy: Privacy;
}

/** For the login alone; leaves no process. */
export interface UserCredentials {
  readonly uid: UserId;
  readonly passwordHash: string | null;
  readonly active: boolean;
}

export interface NewUser {
  readonly account: string;
  readonly nickname: string;
  /** argon2id in PHC form; null for a user who cannot log in by password. */
  readonly passwordHash: string | null;
  /** Keyed hash of a phone that was proved to be his. */
  readonly phoneHash?: Buffer;
}

export interface ProfilePatch {
  readonly nickname?: string;
  readonly avatar?: string;
  readonly signature?: string;
  readonly gender?: string | null;
  readonly region?: string | null;
  readonly privacy?: Partial<Privacy>;
}

/** Login names; compared byte for byte. */
export const ACCOUNT = /^[A-Za-z0-9_.@-]{3,64}$/;
