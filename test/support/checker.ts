import type { Acknowledged, Member } from './load.js';
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
    `SELECT seqid, id, client_msg_id, from_user, status FROM ${tableOf(topic)} WHERE topic = ? ORDER BY seqid`,
    [topic],
  );
  const stored = rows.filter((row) => row.status !== 'void');
  const byClientId = new Set(stored.map((row) => `${row.from_user} ${row.client_msg_id}`));
  expect(byClientId.size).toBe(stored.length);
  checkAcknowledgements(members, new Map(stored.map((row) => [Number(row.seqid), row])));
  const last = Number(stored.at(-1)?.seqid ?? 0);
  for (const member of members) {
    await checkMember(member, stored, last);
  }
  return rows;
}

const tableOf = (topic: string): string => (topic.startsWith('grp_') ? 'im_group_messages' : 'im_messages');

/** Every refusal was told to be retryable, and came within the bound that a caller may rely on. */
export function checkRefusals(members: readonly Member[], withinMs: number): void {
  const refusals = members.flatMap((member) => member.refusals);
  expect(refusals.filter((refusal) => !refusal.retryable)).toEqual([]);
  expect(refusals.filter((refusal) => refusal.tookMs > withinMs)).toEqual([]);
}

/** No call was left without an answer while its connection stood. */
export function checkAnswered(members: readonly Member[]): void {
  expect(members.reduce((sum, member) => sum + member.unanswered, 0)).toBe(0);
}

function checkAcknowledgements(members: readonly Member[], bySeq: ReadonlyMap<number, Row>): void {
  const wrong = members.flatMap((member) =>
    member.acknowledged.filter(({ clientMsgId, seq, messageId }) => {
      const row = bySeq.get(seq);
      const own = row?.client_msg_id === clientMsgId && String(row.from_user) === member.user.uid;
      return !own || String(row.id) !== messageId;
    }),
  );
  expect(wrong).toEqual([]);
  const acknowledged = members.flatMap((member) => member.acknowledged);
  expect(new Set(acknowledged.map((ack) => ack.seq)).size).toBe(acknowledged.length);
  expect(reordered(acknowledged)).toEqual([]);
}

/** Messages that were begun after another one was acknowledged, and stand before it. */
function reordered(acknowledged: readonly Acknowledged[]): Acknowledged[] {
  const byAck = [...acknowledged].sort((a, b) => a.ackedAtMs - b.ackedAtMs);
  const bySend = [...acknowledged].sort((a, b) => a.sentAtMs - b.sentAtMs);
  let at = 0;
  let highest = 0;
  return bySend.filter((message) => {
    for (; at < byAck.length && byAck[at].ackedAtMs < message.sentAtMs; at += 1) {
      highest = Math.max(highest, byAck[at].seq);
    }
    return message.seq < highest;
  });
}

async function checkMember(member: Member, stored: readonly Row[], last: number): Promise<void> {
  try {
    await until(`a cursor reaches ${last}`, () => member.cursor >= last, 30_000);
  } catch (error) {
    throw new Error(`the cursor stands at ${member.cursor}; last pages: ${JSON.stringify(member.reads.slice(-3))}`, {
      cause: error,
    });
  }
  expect(member.known.map((message) => message.seq)).toEqual(stored.map((row) => Number(row.seqid)));
  expect(member.known.map((message) => message.id)).toEqual(stored.map((row) => String(row.id)));
  // Whatever was shown by a frame or above a cursor is stored as it was shown.
  const ids = new Map(stored.map((row) => [Number(row.seqid), String(row.id)]));
  expect([...member.shown].filter(([seq, id]) => ids.get(seq) !== id)).toEqual([]);
  expect(member.twice).toEqual([]);
}
