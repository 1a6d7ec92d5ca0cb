import type { MigrationInterface, QueryRunner } from 'typeorm';

export class ActionTokens1764000000460 implements MigrationInterface {
  readonly name = 'ActionTokens1764000000460';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE IF NOT EXISTS im_action_tokens (
        hash       BINARY(32)  NOT NULL,
        purpose    VARCHAR(16) NOT NULL,
        captcha_id CHAR(22)    NOT NULL,
        phone_hash BINARY(32)  NOT NULL,
        uid        BIGINT      NULL,
        created_at DATETIME(3) NOT NULL,
        used_at    DATETIME(3) NULL,
        expires_at DATETIME(3) NOT NULL,
        PRIMARY KEY (hash),
        KEY ix_action_tokens_expires (expires_at)
      ) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE IF EXISTS im_action_tokens');
  }
}
