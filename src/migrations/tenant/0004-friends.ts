import type { MigrationInterface, QueryRunner } from 'typeorm';

/** A friendship is two rows, one in each direction, so that a user's list is one range of the primary key. */
export class CreateFriends1764000000040 implements MigrationInterface {
  readonly name = 'CreateFriends1764000000040';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE IF NOT EXISTS im_friends (
        uid        BIGINT      NOT NULL,
        friend_uid BIGINT      NOT NULL,
        created_at DATETIME(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3),
        PRIMARY KEY (uid, friend_uid)
      ) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE IF EXISTS im_friends');
  }
}
