import type { MigrationInterface, QueryRunner } from 'typeorm';

/** System configuration, with HotGo's column names: a control schema of HotGo that is there already is read as it is. */
export class SysConfig1763000000020 implements MigrationInterface {
  readonly name = 'SysConfig1763000000020';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE IF NOT EXISTS hg_sys_config (
        id            BIGINT        NOT NULL AUTO_INCREMENT,
        \`group\`       VARCHAR(128)  NOT NULL,
        name          VARCHAR(100)  NOT NULL DEFAULT '',
        type          VARCHAR(32)   NOT NULL,
        \`key\`         VARCHAR(100)  NOT NULL,
        value         MEDIUMTEXT    NULL,
        default_value MEDIUMTEXT    NULL,
        sort          INT           NOT NULL DEFAULT 0,
        tip           VARCHAR(150)  NULL,
        is_default    TINYINT       NOT NULL DEFAULT 0,
        status        TINYINT       NOT NULL DEFAULT 1,
        created_at    DATETIME      NULL,
        updated_at    DATETIME      NULL,
        PRIMARY KEY (id),
        UNIQUE KEY uq_config (\`group\`, \`key\`)
      ) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE IF EXISTS hg_sys_config');
  }
}
