import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Which REST calls with an Idempotency-Key were carried out; `answer` is NULL until it was given. */
export class IdempotencyKeys1764000000400 implements MigrationInterface {
  readonly name = 'IdempotencyKeys1764000000400';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE IF NOT EXISTS im_idempotency_keys (
        uid        BIGINT      NOT NULL,
        id_key     VARCHAR(64) NOT NULL,
        digest     BINARY(32)  NOT NULL,
        answer     MEDIUMTEXT  NULL,
        created_at DATETIME(3) NOT NULL,
        PRIMARY KEY (uid, id_key),
        KEY ix_idempotency_created (created_at)
      ) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE IF EXISTS im_idempotency_keys');
  }
}
