import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Dictionaries, with HotGo's column names. */
export class DictTypes1763000000030 implements MigrationInterface {
  readonly name = 'DictTypes1763000000030';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE IF NOT EXISTS hg_sys_dict_type (
        id         BIGINT       NOT NULL AUTO_INCREMENT,
        pid        BIGINT       NOT NULL DEFAULT 0,
        name       VARCHAR(100) NOT NULL DEFAULT '',
        type       VARCHAR(100) NOT NULL,
        sort       INT          NOT NULL DEFAULT 0,
        remark     VARCHAR(500) NULL,
        status     TINYINT      NOT NULL DEFAULT 1,
        created_at DATETIME     NULL,
        updated_at DATETIME     NULL,
        PRIMARY KEY (id),
        UNIQUE KEY uq_dict_type (type)
      ) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE IF EXISTS hg_sys_dict_type');
  }
}
