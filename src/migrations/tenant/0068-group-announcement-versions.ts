import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Every version of every announcement. */
export class GroupAnnouncementVersions1764000000680 implements MigrationInterface {
  readonly name = 'GroupAnnouncementVersions1764000000680';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE IF NOT EXISTS im_group_announcement_versions (
        announcement_id BIGINT       NOT NULL,
        version         INT          NOT NULL,
        title           VARCHAR(128) NOT NULL DEFAULT '',
        content         TEXT         NOT NULL,
        created_by      BIGINT       NOT NULL,
        created_at      DATETIME(3)  NOT NULL,
        PRIMARY KEY (announcement_id, version)
      ) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE IF EXISTS im_group_announcement_versions');
  }
}
