import { Column, CreateDateColumn, Entity, Index, PrimaryColumn } from 'typeorm';

/** A refresh token that was handed out; only its SHA-256 is kept, its successor is computed from the token itself. */
@Entity({ name: 'im_refresh_tokens' })
export class RefreshTokenEntity {
  @PrimaryColumn({ type: 'binary', length: 32 })
  hash: Buffer;

  @Index('ix_refresh_tokens_session')
  @Column({ name: 'session_id', type: 'bigint' })
  sessionId: string;

  @CreateDateColumn({ name: 'created_at', type: 'datetime', precision: 3, default: () => 'CURRENT_TIMESTAMP(3)' })
  createdAt: Date;

  /** When it was exchanged for its successor. */
  @Column({ name: 'used_at', type: 'datetime', precision: 3, nullable: true })
  usedAt: Date | null;

  @Index('ix_refresh_tokens_expires')
  @Column({ name: 'expires_at', type: 'datetime', precision: 3 })
  expiresAt: Date;
}
