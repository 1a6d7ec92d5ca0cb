import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What users let others see and do; who has no row lets everybody. */
export class UserPrivacy1764000000600 implements MigrationInterface {
  readonly name = 'UserPrivacy1764000000600';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE IF NOT EXISTS im_user_privacy (
        uid           BIGINT      NOT NULL,
        presence      VARCHAR(16) NOT NULL DEFAULT 'everyone',
        last_seen     VARCHAR(16) NOT NULL DEFAULT 'everyone',
        add_to_groups VARCHAR(16) NOT NULL DEFAULT 'everyone',
        updated_at    DATETIME(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3) ON UPDATE CURRENT_TIMESTAMP(3),
        PRIMARY KEY (uid)
      ) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE IF EXISTS im_user_privacy');
  }
}
