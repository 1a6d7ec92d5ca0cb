import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Settings of outside services; tenant 0 is everybody who has none of his own. `secrets` is sealed. */
export class ThirdPartyConfigs1763000000050 implements MigrationInterface {
  readonly name = 'ThirdPartyConfigs1763000000050';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE IF NOT EXISTS im_third_party_configs (
        id         BIGINT      NOT NULL AUTO_INCREMENT,
        tenant_id  BIGINT      NOT NULL,
        kind       VARCHAR(32) NOT NULL,
        enabled    TINYINT     NOT NULL DEFAULT 1,
        settings   MEDIUMTEXT  NOT NULL,
        secrets    MEDIUMTEXT  NULL,
        created_at DATETIME(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3),
        updated_at DATETIME(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3) ON UPDATE CURRENT_TIMESTAMP(3),
        PRIMARY KEY (id),
        UNIQUE KEY uq_third_party (tenant_id, kind)
      ) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE IF EXISTS im_third_party_configs');
  }
}
