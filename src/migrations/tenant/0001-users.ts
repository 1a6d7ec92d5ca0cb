import type { MigrationInterface, QueryRunner } from 'typeorm';

export class CreateUsers1764000000010 implements MigrationInterface {
  readonly name = 'CreateUsers1764000000010';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE IF NOT EXISTS im_users (
        id            BIGINT       NOT NULL AUTO_INCREMENT,
        account       VARCHAR(64)  NOT NULL,
        nickname      VARCHAR(64)  NOT NULL,
        avatar        VARCHAR(512) NOT NULL DEFAULT '',
        signature     VARCHAR(255) NOT NULL DEFAULT '',
        gender        VARCHAR(16)  NULL,
        region        VARCHAR(64)  NULL,
        password_hash VARCHAR(255) NULL,
        status        VARCHAR(16)  NOT NULL DEFAULT 'active',
        last_seen_at  DATETIME(3)  NULL,
        created_at    DATETIME(3)  NOT NULL DEFAULT CURRENT_TIMESTAMP(3),
        updated_at    DATETIME(3)  NOT NULL DEFAULT CURRENT_TIMESTAMP(3) ON UPDATE CURRENT_TIMESTAMP(3),
        PRIMARY KEY (id),
        UNIQUE KEY uq_users_account (account)
      ) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE IF EXISTS im_users');
  }
}
