import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Messages that a member deleted for himself. */
export class MessageHides1764000000220 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE IF NOT EXISTS im_message_hides (
        uid BIGINT NOT NULL,
        topic VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        seqid BIGINT NOT NULL,
        created_at DATETIME(3) NOT NULL,
        PRIMARY KEY (uid, topic, seqid)
      ) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE im_message_hides');
  }
}
