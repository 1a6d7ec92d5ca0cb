import { Column, CreateDateColumn, Entity, PrimaryGeneratedColumn } from 'typeorm';

/** A tenant's record in the control database. A NULL in a `db_…` column means: as the control database's server. */
@Entity({ name: 'im_tenants' })
export class TenantEntity {
  @PrimaryGeneratedColumn({ type: 'bigint' })
  id: string;

  /** The enterprise code that users type. */
  @Column({ type: 'varchar', length: 64, unique: true })
  code: string;

  @Column({ type: 'varchar', length: 128 })
  name: string;

  @Column({ type: 'varchar', length: 16, default: 'active' })
  status: string;

  @Column({ name: 'db_host', type: 'varchar', length: 255, nullable: true })
  dbHost: string | null;

  @Column({ name: 'db_port', type: 'int', nullable: true })
  dbPort: number | null;

  @Column({ name: 'db_user', type: 'varchar', length: 64, nullable: true })
  dbUser: string | null;

  @Column({ name: 'db_name', type: 'varchar', length: 64 })
  dbName: string;

  /** Where the password is, such as `env:ACME_DB_PASSWORD`; never the password itself. */
  @Column({ name: 'db_secret_ref', type: 'varchar', length: 255, nullable: true })
  dbSecretRef: string | null;

  /** JSON object, read as text: one row that does not parse must not break the others. */
  @Column({ type: 'mediumtext' })
  settings: string;

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
