import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Messages that a user keeps at hand: references, never copies. */
export class Favorites1764000000830 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE IF NOT EXISTS im_favorites (
        id BIGINT NOT NULL AUTO_INCREMENT,
        uid BIGINT NOT NULL,
        topic VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        seqid BIGINT NOT NULL,
        created_at DATETIME(3) NOT NULL,
        PRIMARY KEY (id),
        UNIQUE KEY uk_im_favorites_message (uid, topic, seqid),
        KEY by_user (uid, id)
      ) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE im_favorites');
  }
}
