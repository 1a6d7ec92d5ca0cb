import type { ClaimLives, Claimant } from '../../../src/modules/group-message/group-message.redis.js';
import { NO_EPOCH } from '../../../src/modules/group-message/group-message.redis.js';
import { asUserId, type Topic } from '../../../src/platform/ids/ids.js';
import { TENANT, type PipelineNode, type PipelineWorld } from '../../support/pipeline.js';

export const LIVES: ClaimLives = { pendingSeconds: 120, doneSeconds: 86_400, failedSeconds: 600 };
export const DEADLINE_MS = 10_000;
export const CREATED_AT = '2026-01-02T03:04:05.678Z';

/** One attempt of a member to send; two attempts of one message differ in their owner only. */
export function claimant(topic: Topic, clientMsgId = 'm', owner = 'one', digest = 'aa', uid = '2'): Claimant {
  return { tenant: TENANT, topic, uid: asUserId(uid), clientMsgId, owner, digest, createdAt: CREATED_AT };
}

/** A claim as Redis holds it, by the names of its parts; null for none. */
export function parseClaim(text: string | null): Record<string, string> | null {
  if (text === null) return null;
  const [status, owner, seq, epoch, messageId, digest, createdAt] = text.split('|');
  return { status, owner, seq, epoch, messageId, digest, createdAt };
}

/** A topic that counts, whose members' permissions are known. */
export async function countingTopic(world: PipelineWorld, node: PipelineNode, members = 2): Promise<Topic> {
  const topic = await world.group(members);
  await node.rebases.rebase(TENANT, topic, 'missing', NO_EPOCH);
  for (let uid = 1; uid <= members; uid += 1) await node.groups.loadAccess(TENANT, topic, asUserId(String(uid)));
  return topic;
}
