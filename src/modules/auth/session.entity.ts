import { Column, CreateDateColumn, Entity, Index, PrimaryGeneratedColumn } from 'typeorm';

/** One login on one device, until logout. */
@Entity({ name: 'im_sessions' })
@Index('ix_sessions_standing', ['uid', 'revokedAt', 'lastUsedAt'])
export class SessionEntity {
  @PrimaryGeneratedColumn({ type: 'bigint' })
  id: string;

  @Index('ix_sessions_uid')
  @Column({ type: 'bigint' })
  uid: string;

  @Column({ name: 'device_id', type: 'varchar', length: 128, nullable: true })
  deviceId: string | null;

  @Column({ type: 'varchar', length: 16, nullable: true })
  device: string | null;

  @CreateDateColumn({ name: 'created_at', type: 'datetime', precision: 3, default: () => 'CURRENT_TIMESTAMP(3)' })
  createdAt: Date;

  @Column({ name: 'last_used_at', type: 'datetime', precision: 3, default: () => 'CURRENT_TIMESTAMP(3)' })
  lastUsedAt: Date;

  @Column({ name: 'revoked_at', type: 'datetime', precision: 3, nullable: true })
  revokedAt: Date | null;

  /** Why it was revoked: `logout`, `refresh_reuse`, … */
  @Column({ type: 'varchar', length: 32, nullable: true })
  reason: string | null;
}
