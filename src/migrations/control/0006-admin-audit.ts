import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What operators changed; an entry is written in the transaction of what it records. */
export class AdminAuditLogs1763000000060 implements MigrationInterface {
  readonly name = 'AdminAuditLogs1763000000060';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE IF NOT EXISTS im_admin_audit_logs (
        id         BIGINT       NOT NULL AUTO_INCREMENT,
        operator   VARCHAR(64)  NOT NULL,
        source     VARCHAR(64)  NOT NULL,
        action     VARCHAR(64)  NOT NULL,
        target     VARCHAR(255) NOT NULL,
        detail     MEDIUMTEXT   NULL,
        created_at DATETIME(3)  NOT NULL DEFAULT CURRENT_TIMESTAMP(3),
        PRIMARY KEY (id)
      ) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE IF EXISTS im_admin_audit_logs');
  }
}
