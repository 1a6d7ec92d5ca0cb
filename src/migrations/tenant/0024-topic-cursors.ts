import type { MigrationInterface, QueryRunner } from 'typeorm';

/** How far each user has read and received each topic. */
export class TopicCursors1764000000240 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE IF NOT EXISTS im_topic_cursors (
        uid BIGINT NOT NULL,
        topic VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        read_seq BIGINT NOT NULL DEFAULT 0,
        received_seq BIGINT NOT NULL DEFAULT 0,
        updated_at DATETIME(3) NOT NULL,
        PRIMARY KEY (uid, topic)
      ) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE im_topic_cursors');
  }
}
