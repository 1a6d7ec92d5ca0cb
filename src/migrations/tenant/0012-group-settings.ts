import type { MigrationInterface, QueryRunner } from 'typeorm';

export class GroupSettings1764000000130 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE IF NOT EXISTS im_group_settings (
        group_id BIGINT NOT NULL,
        mute_all TINYINT NOT NULL DEFAULT 0,
        join_approval TINYINT NOT NULL DEFAULT 1,
        history_for_new_members TINYINT NOT NULL DEFAULT 1,
        who_may_invite VARCHAR(16) NOT NULL DEFAULT 'admins',
        who_may_announce VARCHAR(16) NOT NULL DEFAULT 'admins',
        updated_at DATETIME(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3) ON UPDATE CURRENT_TIMESTAMP(3),
        PRIMARY KEY (group_id)
      ) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE IF EXISTS im_group_settings');
  }
}
