import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Entries of the dictionaries, with HotGo's column names. */
export class DictData1763000000040 implements MigrationInterface {
  readonly name = 'DictData1763000000040';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE IF NOT EXISTS hg_sys_dict_data (
        id         BIGINT       NOT NULL AUTO_INCREMENT,
        label      VARCHAR(100) NOT NULL,
        value      VARCHAR(1000) NOT NULL,
        value_type VARCHAR(32)  NOT NULL DEFAULT 'string',
        type       VARCHAR(100) NOT NULL,
        list_class VARCHAR(100) NULL,
        is_default TINYINT      NOT NULL DEFAULT 0,
        sort       INT          NOT NULL DEFAULT 0,
        remark     VARCHAR(500) NULL,
        status     TINYINT      NOT NULL DEFAULT 1,
        created_at DATETIME     NULL,
        updated_at DATETIME     NULL,
        PRIMARY KEY (id),
        KEY ix_dict_data_type (type)
      ) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE IF EXISTS hg_sys_dict_data');
  }
}
