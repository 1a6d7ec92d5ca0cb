import type { MigrationInterface, QueryRunner } from 'typeorm';

export class Captchas1764000000450 implements MigrationInterface {
  readonly name = 'Captchas1764000000450';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE IF NOT EXISTS im_captchas (
        id          CHAR(22)         NOT NULL,
        scene       VARCHAR(16)      NOT NULL,
        phone_hash  BINARY(32)       NOT NULL,
        uid         BIGINT           NULL,
        code_hash   BINARY(32)       NULL,
        status      VARCHAR(16)      NOT NULL,
        reason      VARCHAR(16)      NULL,
        attempts    TINYINT UNSIGNED NOT NULL DEFAULT 0,
        created_at  DATETIME(3)      NOT NULL,
        sent_at     DATETIME(3)      NULL,
        verified_at DATETIME(3)      NULL,
        consumed_at DATETIME(3)      NULL,
        expires_at  DATETIME(3)      NOT NULL,
        PRIMARY KEY (id),
        KEY ix_captchas_phone (phone_hash, scene, created_at),
        KEY ix_captchas_expires (expires_at)
      ) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE IF EXISTS im_captchas');
  }
}
