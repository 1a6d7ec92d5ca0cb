import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Who follows whom. */
export class Follows1764000000620 implements MigrationInterface {
  readonly name = 'Follows1764000000620';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE IF NOT EXISTS im_follows (
        uid          BIGINT      NOT NULL,
        followed_uid BIGINT      NOT NULL,
        created_at   DATETIME(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3),
        PRIMARY KEY (uid, followed_uid)
      ) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE IF EXISTS im_follows');
  }
}
