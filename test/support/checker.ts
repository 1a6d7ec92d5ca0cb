import type { Member } from './load.js';
import type { Stage } from './stage.js';
import { until } from './until.js';

interface Row {
  readonly seqid: string;
  readonly id: string;
  readonly client_msg_id: string | null;
  readonly from_user: string;
  readonly status: string;
}

/**
 * Compares every acknowledgement with MySQL and with what each member ended up with: none lost, none doubled, none
 * reordered, and no cursor passed a message that came later.
 */
export async function checkPromise(
  stage: Stage,
  code: string,
  topic: string,
  members: readonly Member[],
): Promise<Row[]> {
  const rows = await stage.sql<Row>(
    code,
    'SELECT seqid, id, client_msg_id, from_user, status FROM im_group_messages WHERE topic = ? ORDER BY seqid',
    [topic],
  );
  const stored = rows.filter((row) => row.status !== 'void');
  const byClientId = new Map(stored.map((row) => [`${row.from_user} ${row.client_msg_id}`, row]));
  expect(byClientId.size).toBe(stored.length);
  const bySeq = new Map(stored.map((row) => [Number(row.seqid), row]));
  const acknowledged = members.flatMap((member) => member.acknowledged);
  const wrong = acknowledged.filter(({ clientMsgId, seq, messageId }) => {
    const row = bySeq.get(seq);
    return row?.client_msg_id !== clientMsgId || String(row.id) !== messageId;
  });
  expect(wrong).toEqual([]);
  expect(new Set(acknowledged.map((ack) => ack.seq)).size).toBe(acknowledged.length);
  const last = Number(stored.at(-1)?.seqid ?? 0);
  for (const member of members) {
    await until(`a cursor reaches ${last}, it is at ${member.cursor}`, () => member.cursor >= last, 30_000);
    expect(member.known.map((message) => message.seq)).toEqual(stored.map((row) => Number(row.seqid)));
    expect(member.known.map((message) => message.id)).toEqual(stored.map((row) => String(row.id)));
  }
  return rows;
}

/** Every refusal was told to be retryable, and came within the bound that a caller may rely on. */
export function checkRefusals(members: readonly Member[], withinMs: number): void {
  const refusals = members.flatMap((member) => member.refusals);
  expect(refusals.filter((refusal) => !refusal.retryable)).toEqual([]);
  expect(refusals.filter((refusal) => refusal.tookMs > withinMs)).toEqual([]);
}
