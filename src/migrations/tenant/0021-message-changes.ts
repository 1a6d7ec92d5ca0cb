import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What happened to messages after they were sent, numbered per topic without holes, so that clients can catch up. */
export class MessageChanges1764000000210 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE IF NOT EXISTS im_message_change_heads (
        topic VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        change_no BIGINT NOT NULL,
        PRIMARY KEY (topic)
      ) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin`);
    await runner.query(`
      CREATE TABLE IF NOT EXISTS im_message_changes (
        topic VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        change_no BIGINT NOT NULL,
        seqid BIGINT NOT NULL,
        version INT NOT NULL,
        created_at DATETIME(3) NOT NULL,
        PRIMARY KEY (topic, change_no)
      ) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE im_message_changes');
    await runner.query('DROP TABLE im_message_change_heads');
  }
}
