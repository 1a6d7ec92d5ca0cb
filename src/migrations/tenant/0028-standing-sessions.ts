import type { MigrationInterface, QueryRunner } from 'typeorm';

/** A login looks for the user's longest unused session: without reading those that ended long ago. */
export class StandingSessions1764000000280 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    // Not by IF NOT EXISTS, which MySQL does not know here: a migration that was cut short is run again.
    const found = (await runner.query(
      `SELECT 1 FROM information_schema.statistics WHERE table_schema = DATABASE()
       AND table_name = 'im_sessions' AND index_name = 'ix_sessions_standing' LIMIT 1`,
    )) as unknown[];
    if (found.length > 0) return;
    await runner.query('ALTER TABLE im_sessions ADD KEY ix_sessions_standing (uid, revoked_at, last_used_at)');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE im_sessions DROP KEY ix_sessions_standing');
  }
}
