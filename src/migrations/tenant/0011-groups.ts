import type { MigrationInterface, QueryRunner } from 'typeorm';

export class Groups1764000000120 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE IF NOT EXISTS im_groups (
        id BIGINT NOT NULL AUTO_INCREMENT,
        name VARCHAR(128) NOT NULL,
        avatar VARCHAR(512) NOT NULL DEFAULT '',
        intro VARCHAR(1024) NOT NULL DEFAULT '',
        type VARCHAR(16) NOT NULL DEFAULT 'group',
        owner_uid BIGINT NOT NULL,
        state VARCHAR(16) NOT NULL DEFAULT 'active',
        member_count INT NOT NULL DEFAULT 0,
        created_at DATETIME(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3),
        updated_at DATETIME(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3) ON UPDATE CURRENT_TIMESTAMP(3),
        dismissed_at DATETIME(3) NULL,
        PRIMARY KEY (id)
      ) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE IF EXISTS im_groups');
  }
}
