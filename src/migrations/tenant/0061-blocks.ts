import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Who wants nothing from whom. */
export class Blocks1764000000610 implements MigrationInterface {
  readonly name = 'Blocks1764000000610';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE IF NOT EXISTS im_blocks (
        uid         BIGINT      NOT NULL,
        blocked_uid BIGINT      NOT NULL,
        created_at  DATETIME(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3),
        PRIMARY KEY (uid, blocked_uid),
        KEY ix_blocks_blocked (blocked_uid)
      ) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE IF EXISTS im_blocks');
  }
}
