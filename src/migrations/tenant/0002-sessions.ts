import type { MigrationInterface, QueryRunner } from 'typeorm';

export class CreateSessions1764000000020 implements MigrationInterface {
  readonly name = 'CreateSessions1764000000020';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE IF NOT EXISTS im_sessions (
        id           BIGINT       NOT NULL AUTO_INCREMENT,
        uid          BIGINT       NOT NULL,
        device_id    VARCHAR(128) NULL,
        device       VARCHAR(16)  NULL,
        created_at   DATETIME(3)  NOT NULL DEFAULT CURRENT_TIMESTAMP(3),
        last_used_at DATETIME(3)  NOT NULL DEFAULT CURRENT_TIMESTAMP(3),
        revoked_at   DATETIME(3)  NULL,
        reason       VARCHAR(32)  NULL,
        PRIMARY KEY (id),
        KEY ix_sessions_uid (uid)
      ) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE IF EXISTS im_sessions');
  }
}
