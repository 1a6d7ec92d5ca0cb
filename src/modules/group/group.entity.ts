import { Column, Entity, PrimaryColumn, PrimaryGeneratedColumn } from 'typeorm';
import type { GroupRole } from './group.types.js';

const now = { type: 'datetime', precision: 3, default: () => 'CURRENT_TIMESTAMP(3)' } as const;

@Entity('im_groups')
export class GroupEntity {
  @PrimaryGeneratedColumn({ type: 'bigint' })
  id: string;

  @Column({ type: 'varchar', length: 128 })
  name: string;

  @Column({ type: 'varchar', length: 512, default: '' })
  avatar: string;

  @Column({ type: 'varchar', length: 1024, default: '' })
  intro: string;

  @Column({ type: 'varchar', length: 16, default: 'group' })
  type: string;

  @Column({ name: 'owner_uid', type: 'bigint' })
  ownerUid: string;

  @Column({ type: 'varchar', length: 16, default: 'active' })
  state: 'active' | 'dismissed';

  /** Number of active members; changed only in the transaction that changes them. */
  @Column({ name: 'member_count', type: 'int', default: 0 })
  memberCount: number;

  @Column({ name: 'created_at', ...now })
  createdAt: Date;

  @Column({ name: 'updated_at', ...now, onUpdate: 'CURRENT_TIMESTAMP(3)' })
  updatedAt: Date;

  @Column({ name: 'dismissed_at', type: 'datetime', precision: 3, nullable: true })
  dismissedAt: Date | null;
}

/** Who may do something that a setting opens: the owner and the admins, or every member. */
export type WhoMay = 'admins' | 'members';

@Entity('im_group_settings')
export class GroupSettingsEntity {
  @PrimaryColumn({ name: 'group_id', type: 'bigint' })
  groupId: string;

  @Column({ name: 'mute_all', type: 'tinyint', default: 0 })
  muteAll: number;

  @Column({ name: 'join_approval', type: 'tinyint', default: 1 })
  joinApproval: number;

  @Column({ name: 'history_for_new_members', type: 'tinyint', default: 1 })
  historyForNewMembers: number;

  @Column({ name: 'who_may_invite', type: 'varchar', length: 16, default: 'admins' })
  whoMayInvite: WhoMay;

  @Column({ name: 'who_may_announce', type: 'varchar', length: 16, default: 'admins' })
  whoMayAnnounce: WhoMay;

  @Column({ name: 'updated_at', ...now, onUpdate: 'CURRENT_TIMESTAMP(3)' })
  updatedAt: Date;
}

/** Rows of those who left or were kicked stay; one who comes back starts clean in the same row. */
@Entity('im_group_members')
export class GroupMemberEntity {
  @PrimaryColumn({ name: 'group_id', type: 'bigint' })
  groupId: string;

  @PrimaryColumn({ type: 'bigint' })
  uid: string;

  @Column({ type: 'varchar', length: 16, default: 'member' })
  role: GroupRole;

  @Column({ type: 'varchar', length: 16, default: 'active' })
  state: 'active' | 'left' | 'kicked';

  @Column({ type: 'varchar', length: 64, default: '' })
  nickname: string;

  @Column({ name: 'muted_until', type: 'datetime', precision: 3, nullable: true })
  mutedUntil: Date | null;

  @Column({ name: 'joined_at', ...now })
  joinedAt: Date;

  /** Highest seq that was stored when the member joined: history starts after it where the group says so. */
  @Column({ name: 'joined_seq', type: 'bigint', default: 0 })
  joinedSeq: string;

  @Column({ name: 'left_at', type: 'datetime', precision: 3, nullable: true })
  leftAt: Date | null;
}
