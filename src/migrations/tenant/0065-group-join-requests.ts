import type { MigrationInterface, QueryRunner } from 'typeorm';

/** One row a user and group: who asks again takes his row. */
export class GroupJoinRequests1764000000650 implements MigrationInterface {
  readonly name = 'GroupJoinRequests1764000000650';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE IF NOT EXISTS im_group_join_requests (
        id         BIGINT       NOT NULL AUTO_INCREMENT,
        group_id   BIGINT       NOT NULL,
        uid        BIGINT       NOT NULL,
        message    VARCHAR(255) NOT NULL DEFAULT '',
        state      VARCHAR(16)  NOT NULL DEFAULT 'pending',
        decided_by BIGINT       NULL,
        created_at DATETIME(3)  NOT NULL DEFAULT CURRENT_TIMESTAMP(3),
        decided_at DATETIME(3)  NULL,
        PRIMARY KEY (id),
        UNIQUE KEY uq_group_join_requests_pair (group_id, uid),
        KEY ix_group_join_requests_state (group_id, state, id)
      ) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE IF EXISTS im_group_join_requests');
  }
}
