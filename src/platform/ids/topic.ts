import { asTopic, asUserId, compareIds, isDecimalId, type Topic, type UserId } from './ids.js';

export type TopicParts =
  | { readonly kind: 'group'; readonly groupId: string }
  | { readonly kind: 'p2p'; readonly low: UserId; readonly high: UserId }
  | { readonly kind: 'self'; readonly uid: UserId }
  | { readonly kind: 'room'; readonly roomId: string };

/** Takes a topic name apart; null when it is not written in exactly the form of the protocol. */
export function parseTopic(text: string): TopicParts | null {
  const [prefix, first, second, ...rest] = text.split('_');
  if (rest.length > 0 || !isDecimalId(first)) return null;
  if (prefix === 'p2p') {
    return isDecimalId(second) && compareIds(first, second) < 0
      ? { kind: 'p2p', low: asUserId(first), high: asUserId(second) }
      : null;
  }
  if (second !== undefined) return null;
  if (prefix === 'grp') return { kind: 'group', groupId: first };
  if (prefix === 'self') return { kind: 'self', uid: asUserId(first) };
  if (prefix === 'room') return { kind: 'room', roomId: first };
  return null;
}

export function isTopic(value: unknown): value is Topic {
  return typeof value === 'string' && parseTopic(value) !== null;
}

export const groupTopic = (groupId: string): Topic => asTopic(`grp_${groupId}`);

/** Is it a private chat or a file assistant: a topic whose members are in its name? */
export const isDirect = (topic: Topic): boolean => ['p2p', 'self'].includes(parseTopic(topic)?.kind ?? '');

/** The topic of the private chat of two users. */
export function directTopic(a: UserId, b: UserId): Topic {
  return asTopic(compareIds(a, b) < 0 ? `p2p_${a}_${b}` : `p2p_${b}_${a}`);
}

/** The group id of a group topic. @throws Error for any other kind: callers dispatch by kind first. */
export function groupIdOf(topic: Topic): string {
  const parts = parseTopic(topic);
  if (parts?.kind !== 'group') throw new Error(`not a group topic: ${topic}`);
  return parts.groupId;
}
