import type { MigrationInterface, QueryRunner } from 'typeorm';

/** A frame for everybody must not quote what anybody deleted for himself: that is asked by message, not by user. */
export class MessageHidesByMessage1764000000250 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    // Not by IF NOT EXISTS, which MySQL does not know here: a migration that was cut short is run again.
    const found = (await runner.query(
      `SELECT 1 FROM information_schema.statistics WHERE table_schema = DATABASE()
       AND table_name = 'im_message_hides' AND index_name = 'ix_im_message_hides_message' LIMIT 1`,
    )) as unknown[];
    if (found.length > 0) return;
    await runner.query('ALTER TABLE im_message_hides ADD KEY ix_im_message_hides_message (topic, seqid)');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE im_message_hides DROP KEY ix_im_message_hides_message');
  }
}
