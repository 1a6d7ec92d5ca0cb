import type { MigrationInterface, QueryRunner } from 'typeorm';

/** One row a direction: a new request of the same pair takes its row. */
export class FriendRequests1764000000630 implements MigrationInterface {
  readonly name = 'FriendRequests1764000000630';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE IF NOT EXISTS im_friend_requests (
        id         BIGINT       NOT NULL AUTO_INCREMENT,
        from_uid   BIGINT       NOT NULL,
        to_uid     BIGINT       NOT NULL,
        message    VARCHAR(255) NOT NULL DEFAULT '',
        state      VARCHAR(16)  NOT NULL DEFAULT 'pending',
        created_at DATETIME(3)  NOT NULL DEFAULT CURRENT_TIMESTAMP(3),
        settled_at DATETIME(3)  NULL,
        PRIMARY KEY (id),
        UNIQUE KEY uq_friend_requests_pair (from_uid, to_uid),
        KEY ix_friend_requests_to (to_uid, state, id)
      ) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE IF EXISTS im_friend_requests');
  }
}
