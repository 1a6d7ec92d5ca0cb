import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The newest version of an announcement that a member has confirmed. */
export class GroupAnnouncementConfirms1764000000690 implements MigrationInterface {
  readonly name = 'GroupAnnouncementConfirms1764000000690';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE IF NOT EXISTS im_group_announcement_confirms (
        announcement_id BIGINT      NOT NULL,
        uid             BIGINT      NOT NULL,
        version         INT         NOT NULL,
        confirmed_at    DATETIME(3) NOT NULL,
        PRIMARY KEY (announcement_id, uid)
      ) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE IF EXISTS im_group_announcement_confirms');
  }
}
