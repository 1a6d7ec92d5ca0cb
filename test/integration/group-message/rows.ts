import { createConnection, type Connection } from 'mysql2';
import type { MessageDraft } from '../../../src/modules/group-message/group-message.types.js';
import { bodyOf, pendingRow, type PendingRow } from '../../../src/modules/group-message/message-row.js';
import { asUserId, type Topic } from '../../../src/platform/ids/ids.js';
import type { ConnectionInfo } from '../../../src/platform/mysql/connection-info.js';
import { draft } from '../../support/pipeline.js';
import type { Statement } from '../../support/pipeline-hooks.js';

/** A row as Admit would have let it in. */
export function row(
  topic: Topic,
  seq: number,
  clientMsgId = `m${seq}`,
  more: Partial<MessageDraft> = {},
  epoch = 0,
): PendingRow {
  const message = draft(topic, clientMsgId, clientMsgId, more);
  const body = bodyOf(message, new Date());
  return pendingRow(body, asUserId('2'), { seq, epoch, aclVersion: 0 });
}

/** The last round trip of a group commit: rows of messages and COMMIT. */
export const insertsMessages = (statement: Statement): boolean =>
  statement.kind === 'commit' && statement.sql.includes('client_msg_id');

/** A connection that holds locks. */
export class Holder {
  private readonly connection: Connection;

  constructor({ host, port, user, password, database }: ConnectionInfo) {
    this.connection = createConnection({ host, port, user, password, database });
  }

  run(sql: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.connection.query(sql, (error: Error | null) => (error ? reject(error) : resolve()));
    });
  }

  end(): void {
    this.connection.destroy();
  }
}
