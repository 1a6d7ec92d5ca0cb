import { Column, CreateDateColumn, Entity, PrimaryGeneratedColumn } from 'typeorm';

@Entity({ name: 'im_users' })
export class UserEntity {
  @PrimaryGeneratedColumn({ type: 'bigint' })
  id: string;

  /** Login name, compared byte for byte. */
  @Column({ type: 'varchar', length: 64, unique: true })
  account: string;

  @Column({ type: 'varchar', length: 64 })
  nickname: string;

  @Column({ type: 'varchar', length: 512, default: '' })
  avatar: string;

  @Column({ type: 'varchar', length: 255, default: '' })
  signature: string;

  @Column({ type: 'varchar', length: 16, nullable: true })
  gender: string | null;

  @Column({ type: 'varchar', length: 64, nullable: true })
  region: string | null;

  /** argon2id in PHC form; never selected unless asked for by name. */
  @Column({ name: 'password_hash', type: 'varchar', length: 255, nullable: true, select: false })
  passwordHash: string | null;

  /** Keyed hash of the phone that the user has proved to be his; never selected unless asked for by name. */
  @Column({ name: 'phone_hash', type: 'binary', length: 32, nullable: true, select: false })
  phoneHash: Buffer | null;

  @Column({ type: 'varchar', length: 16, default: 'active' })
  status: string;

  @Column({ name: 'last_seen_at', type: 'datetime', precision: 3, nullable: true })
  lastSeenAt: Date | null;

  @CreateDateColumn({ name: 'created_at', type: 'datetime', precision: 3, default: () => 'CURRENT_TIMESTAMP(3)' })
  createdAt: Date;

  /** Kept by the database. */
  @Column({
    name: 'updated_at',
    type: 'datetime',
    precision: 3,
    default: () => 'CURRENT_TIMESTAMP(3)',
    onUpdate: 'CURRENT_TIMESTAMP(3)',
    insert: false,
    update: false,
  })
  updatedAt: Date;
}
