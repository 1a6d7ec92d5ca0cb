import type { MigrationInterface, QueryRunner } from 'typeorm';

export class CreateTenants1763000000010 implements MigrationInterface {
  readonly name = 'CreateTenants1763000000010';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE IF NOT EXISTS im_tenants (
        id            BIGINT       NOT NULL AUTO_INCREMENT,
        code          VARCHAR(64)  NOT NULL,
        name          VARCHAR(128) NOT NULL,
        status        VARCHAR(16)  NOT NULL DEFAULT 'active',
        db_host       VARCHAR(255) NULL,
        db_port       INT          NULL,
        db_user       VARCHAR(64)  NULL,
        db_name       VARCHAR(64)  NOT NULL,
        db_secret_ref VARCHAR(255) NULL,
        settings      MEDIUMTEXT   NOT NULL,
        created_at    DATETIME(3)  NOT NULL DEFAULT CURRENT_TIMESTAMP(3),
        updated_at    DATETIME(3)  NOT NULL DEFAULT CURRENT_TIMESTAMP(3) ON UPDATE CURRENT_TIMESTAMP(3),
        PRIMARY KEY (id),
        UNIQUE KEY uq_tenants_code (code)
      ) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE IF EXISTS im_tenants');
  }
}
