import { invalid } from '../../../platform/errors/app-error.js';
import { asTopic, asUserId, isDecimalId, type Topic, type UserId } from '../../../platform/ids/ids.js';
import { parseTopic } from '../../../platform/ids/topic.js';

/** Only group topics belong here. @throws AppError VALIDATION_FAILED */
export function groupTopicOf(text: string): Topic {
  if (parseTopic(text)?.kind !== 'group') throw invalid('topic', 'must be a group topic such as grp_1');
  return asTopic(text);
}

export function uidOf(text: string): UserId {
  if (!isDecimalId(text)) throw invalid('uid', 'must be a decimal id');
  return asUserId(text);
}

export function notEmpty(patch: object): void {
  if (Object.values(patch).every((value) => value === undefined)) throw invalid('body', 'names nothing to change');
}

/** Codes that invites have. */
export function inviteCodeOf(text: string): string {
  if (!/^[A-Za-z0-9_-]{1,32}$/.test(text)) throw invalid('code', 'is no invite code');
  return text;
}
