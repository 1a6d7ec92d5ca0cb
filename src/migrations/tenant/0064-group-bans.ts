import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Who may not come back into a group, for good or until a time. */
export class GroupBans1764000000640 implements MigrationInterface {
  readonly name = 'GroupBans1764000000640';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE IF NOT EXISTS im_group_bans (
        group_id     BIGINT       NOT NULL,
        uid          BIGINT       NOT NULL,
        banned_until DATETIME(3)  NULL,
        reason       VARCHAR(255) NOT NULL DEFAULT '',
        created_by   BIGINT       NOT NULL,
        created_at   DATETIME(3)  NOT NULL DEFAULT CURRENT_TIMESTAMP(3),
        PRIMARY KEY (group_id, uid)
      ) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE IF EXISTS im_group_bans');
  }
}
