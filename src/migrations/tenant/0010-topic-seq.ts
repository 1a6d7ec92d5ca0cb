import type { MigrationInterface, QueryRunner } from 'typeorm';

export class TopicSeq1764000000110 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE IF NOT EXISTS im_topic_seq (
        topic VARCHAR(64) NOT NULL,
        epoch BIGINT NOT NULL DEFAULT 0,
        seq BIGINT NOT NULL DEFAULT 0,
        acl_version BIGINT NOT NULL DEFAULT 0,
        PRIMARY KEY (topic)
      ) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE IF EXISTS im_topic_seq');
  }
}
