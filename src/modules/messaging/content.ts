import { isReference } from '../../platform/http/rules.js';
import { isSeq } from '../../platform/ids/ids.js';
import { jsonDepth } from '../../platform/ids/plain-json.js';
import type { ContentProblem, MessageType } from '../group-message/group-message.types.js';

export const MAX_CONTENT_BYTES = 32 * 1024;
export const MAX_CONTENT_DEPTH = 16;
export const MAX_TEXT_CODE_POINTS = 8_000;

/** Types that clients may send; `system` messages are written by the server's own modules. */
export const CLIENT_MESSAGE_TYPES = ['text', 'image', 'file', 'audio', 'video', 'custom'] as const;

type Check = (value: unknown) => string | null;
interface Field {
  readonly check: Check;
  readonly required: boolean;
}

const must =
  (ok: (value: unknown) => boolean, problem: string): Check =>
  (value) =>
    ok(value) ? null : problem;
const required = (check: Check): Field => ({ check, required: true });
const optional = (check: Check): Field => ({ check, required: false });

/** Length in code points: an emoji of four bytes counts once, as a reader would count it. */
function codePoints(text: string): number {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}

const isString = (max: number): Check =>
  must(
    (value) => typeof value === 'string' && value.length > 0 && value.length <= max,
    `must be a string of 1 to ${max}`,
  );
const isKey: Check = (value) =>
  isString(512)(value) ?? (isReference(value) ? null : 'must be an object key such as "a/b.png"');
const isCount = must((value) => isSeq(value), 'must be a whole number');
const isObject = must(
  (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
  'must be a JSON object',
);
const isText = must(
  (value) => typeof value === 'string' && value.length > 0 && codePoints(value) <= MAX_TEXT_CODE_POINTS,
  `must be text of 1 to ${MAX_TEXT_CODE_POINTS} characters`,
);
const anything: Check = () => null;

/** Where links of a text may lead, if not into the application. Others (`javascript:`) would be carried out by a click. */
const LINK = /^(https?:\/\/|mailto:|tel:)[^\p{Cc}\s]+$/iu;
const isLink = (link: unknown): boolean => typeof link === 'string' && (LINK.test(link) || isReference(link));

/** Free JSON; what it names `url` or `href` is a link. */
const isEntityData: Check = (value) => {
  const { url, href } = (value ?? {}) as Record<string, unknown>;
  const links = [url, href].filter((link) => link !== undefined);
  return links.every(isLink) ? null : 'has a link that is neither https://, http://, mailto:, tel: nor a path';
};

const ENTITY: Record<string, Field> = {
  type: required(isString(64)),
  offset: required(isCount),
  length: required(isCount),
  data: optional(isEntityData),
};

const isEntities: Check = (value) => {
  if (!Array.isArray(value) || value.length > 500) return 'must be a list of at most 500 entities';
  for (const entity of value) {
    const problem = isObject(entity) ?? firstProblem(ENTITY, entity as Record<string, unknown>);
    if (problem)
      return `has an entity that is wrong: ${typeof problem === 'string' ? problem : `${problem.field} ${problem.problem}`}`;
  }
  return null;
};

const MEDIA: Record<string, Field> = {
  objectKey: required(isKey),
  name: optional(isString(255)),
  mime: required(isString(127)),
  size: required(isCount),
  width: optional(isCount),
  height: optional(isCount),
  durationMs: optional(isCount),
  thumbKey: optional(isKey),
};

/** Content by type, as the protocol page lists it. */
const CONTENT: Record<MessageType, Record<string, Field>> = {
  text: { text: required(isText), entities: optional(isEntities) },
  image: MEDIA,
  file: MEDIA,
  audio: MEDIA,
  video: MEDIA,
  system: { kind: required(isString(64)), params: required(isObject) },
  custom: { schema: required(isString(128)), data: required(anything) },
};

/** `quote` is a seq; its text is composed when it is read, so that a recalled message shows nothing. */
const HEAD: Record<string, Field> = {
  quote: optional(must((value) => isSeq(value) && value > 0, 'must be the seq of a message')),
  forwarded: optional(anything),
  client: optional(anything),
};

function firstProblem(fields: Record<string, Field>, value: Record<string, unknown>): ContentProblem | null {
  for (const key of Object.keys(value)) {
    if (!Object.hasOwn(fields, key)) return { field: key, problem: 'is not known' };
  }
  for (const [key, field] of Object.entries(fields)) {
    if (value[key] === undefined) {
      if (field.required) return { field: key, problem: 'is missing' };
      continue;
    }
    const problem = field.check(value[key]);
    if (problem) return { field: key, problem };
  }
  return null;
}

/** @returns what is wrong with a message's content, or null */
export function findContentProblem(type: MessageType, content: object): ContentProblem | null {
  if (jsonDepth(content) > MAX_CONTENT_DEPTH) {
    return { field: 'content', problem: `is nested deeper than ${MAX_CONTENT_DEPTH}` };
  }
  return prefixed('content', firstProblem(CONTENT[type], content as Record<string, unknown>));
}

/** @returns what is wrong with a message's head, or null */
export function findHeadProblem(head: object): ContentProblem | null {
  if (jsonDepth(head) > MAX_CONTENT_DEPTH)
    return { field: 'head', problem: `is nested deeper than ${MAX_CONTENT_DEPTH}` };
  return prefixed('head', firstProblem(HEAD, head as Record<string, unknown>));
}

function prefixed(parent: string, problem: ContentProblem | null): ContentProblem | null {
  return problem && { field: `${parent}.${problem.field}`, problem: problem.problem };
}
