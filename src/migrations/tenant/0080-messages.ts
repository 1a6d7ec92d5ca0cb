import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Messages of private chats and of the file assistant: the shape of group messages, numbered by MySQL itself. */
export class Messages1764000000800 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE IF NOT EXISTS im_messages (
        id BIGINT NOT NULL AUTO_INCREMENT,
        topic VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        seqid BIGINT NOT NULL,
        from_user BIGINT NOT NULL,
        client_msg_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL,
        digest BINARY(32) NULL,
        msg_type VARCHAR(32) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL DEFAULT 'text',
        status VARCHAR(32) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL DEFAULT 'normal',
        content MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL,
        head MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL,
        mentioned_user_ids MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL,
        mention_all TINYINT(1) NOT NULL DEFAULT 0,
        reply_seqid BIGINT NULL,
        root_seqid BIGINT NULL,
        file_count INT NOT NULL DEFAULT 0,
        content_size INT NOT NULL DEFAULT 0,
        has_risk TINYINT(1) NOT NULL DEFAULT 0,
        audit_status VARCHAR(32) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL DEFAULT 'pass',
        version INT NOT NULL DEFAULT 1,
        recalled_at DATETIME(3) NULL,
        recalled_by BIGINT NULL,
        deleted_at DATETIME(3) NULL,
        expires_at DATETIME(3) NULL,
        created_at DATETIME(3) NOT NULL,
        updated_at DATETIME(3) NOT NULL,
        PRIMARY KEY (topic, seqid),
        UNIQUE KEY uk_im_messages_client (topic, from_user, client_msg_id),
        UNIQUE KEY uk_im_messages_id (id)
      ) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE im_messages');
  }
}
