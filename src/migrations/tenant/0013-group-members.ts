import type { MigrationInterface, QueryRunner } from 'typeorm';

/** `list_order` is the order of the member list within one role, `user_groups` finds the groups of a user. */
export class GroupMembers1764000000140 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE IF NOT EXISTS im_group_members (
        group_id BIGINT NOT NULL,
        uid BIGINT NOT NULL,
        role VARCHAR(16) NOT NULL DEFAULT 'member',
        state VARCHAR(16) NOT NULL DEFAULT 'active',
        nickname VARCHAR(64) NOT NULL DEFAULT '',
        muted_until DATETIME(3) NULL,
        joined_at DATETIME(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3),
        joined_seq BIGINT NOT NULL DEFAULT 0,
        left_at DATETIME(3) NULL,
        PRIMARY KEY (group_id, uid),
        KEY user_groups (uid, state),
        KEY list_order (group_id, state, role, joined_at, uid)
      ) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE IF EXISTS im_group_members');
  }
}
