import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The phone that a user has proved to be his, as a keyed hash; one account per phone. */
export class UserPhones1764000000470 implements MigrationInterface {
  readonly name = 'UserPhones1764000000470';

  async up(runner: QueryRunner): Promise<void> {
    // DDL commits by itself: a run that ended between it and its record comes here again.
    if (await runner.hasColumn('im_users', 'phone_hash')) return;
    await runner.query(
      'ALTER TABLE im_users ADD COLUMN phone_hash BINARY(32) NULL, ADD UNIQUE KEY uq_users_phone (phone_hash)',
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE im_users DROP KEY uq_users_phone, DROP COLUMN phone_hash');
  }
}
