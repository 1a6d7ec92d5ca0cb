import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Whose private chats there are: a row for each side, made with the first message. */
export class DirectChats1764000000810 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE IF NOT EXISTS im_direct_chats (
        uid BIGINT NOT NULL,
        topic VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        opened_at DATETIME(3) NOT NULL,
        PRIMARY KEY (uid, topic)
      ) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE im_direct_chats');
  }
}
