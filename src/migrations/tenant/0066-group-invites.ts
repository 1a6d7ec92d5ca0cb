import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Codes that let others join a group. */
export class GroupInvites1764000000660 implements MigrationInterface {
  readonly name = 'GroupInvites1764000000660';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE IF NOT EXISTS im_group_invites (
        code       VARCHAR(32) NOT NULL,
        group_id   BIGINT      NOT NULL,
        created_by BIGINT      NOT NULL,
        max_uses   INT         NULL,
        used       INT         NOT NULL DEFAULT 0,
        expires_at DATETIME(3) NOT NULL,
        revoked_at DATETIME(3) NULL,
        created_at DATETIME(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3),
        PRIMARY KEY (code),
        KEY ix_group_invites_group (group_id)
      ) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE IF EXISTS im_group_invites');
  }
}
