import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Announcements as they are now. */
export class GroupAnnouncements1764000000670 implements MigrationInterface {
  readonly name = 'GroupAnnouncements1764000000670';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE IF NOT EXISTS im_group_announcements (
        id         BIGINT       NOT NULL AUTO_INCREMENT,
        group_id   BIGINT       NOT NULL,
        version    INT          NOT NULL DEFAULT 1,
        title      VARCHAR(128) NOT NULL DEFAULT '',
        content    TEXT         NOT NULL,
        created_by BIGINT       NOT NULL,
        updated_by BIGINT       NOT NULL,
        created_at DATETIME(3)  NOT NULL,
        updated_at DATETIME(3)  NOT NULL,
        deleted_at DATETIME(3)  NULL,
        PRIMARY KEY (id),
        KEY ix_group_announcements_group (group_id, id)
      ) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE IF EXISTS im_group_announcements');
  }
}
