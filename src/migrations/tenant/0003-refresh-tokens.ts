import type { MigrationInterface, QueryRunner } from 'typeorm';

export class CreateRefreshTokens1764000000030 implements MigrationInterface {
  readonly name = 'CreateRefreshTokens1764000000030';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE IF NOT EXISTS im_refresh_tokens (
        hash       BINARY(32)  NOT NULL,
        session_id BIGINT      NOT NULL,
        created_at DATETIME(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3),
        used_at    DATETIME(3) NULL,
        expires_at DATETIME(3) NOT NULL,
        PRIMARY KEY (hash),
        KEY ix_refresh_tokens_session (session_id),
        KEY ix_refresh_tokens_expires (expires_at)
      ) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE IF EXISTS im_refresh_tokens');
  }
}
