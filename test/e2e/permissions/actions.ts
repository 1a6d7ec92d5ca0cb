import type { Group } from './group.js';
import type { Answer } from './people.js';
import type { Role, Rule, RULES } from './rules.js';

/** One way to do something: a socket event or a REST call, as this role. */
export type Door = (group: Group, role: Role) => Promise<Answer>;

/** Something that a group offers, through every door that offers it. */
export interface Action {
  readonly name: string;
  readonly rule: keyof typeof RULES;
  readonly doors: Readonly<Partial<Record<'socket' | 'rest', Door>>>;
  /** Does it change nothing that is stored? */
  readonly reads?: true;
  /** Is it about messages that are there already? */
  readonly talks?: boolean;
  readonly settings?: object;
  /** What everybody does while all are plain members yet. */
  readonly early?: (group: Group) => Promise<unknown>;
  /** Makes what the action is about, once everybody is what his role says. */
  readonly prepare?: (group: Group) => Promise<unknown>;
  /** An ended group answers this one something of its own. */
  readonly ends?: Rule;
}

type Text = (group: Group, role: Role) => string;
type Body = (group: Group, role: Role) => unknown;

export const rest =
  (method: string, path: Text, body?: Body): Door =>
  (group, role) =>
    group.people.rest(role, method, path(group, role), body?.(group, role));

export const event =
  (name: string, payload: Body): Door =>
  (group, role) =>
    group.people.emit(role, name, payload(group, role));

/** Below `/v1/im/groups/{topic}`. */
export const below =
  (path: string | Text = ''): Text =>
  (group, role) =>
    `${group.at}${typeof path === 'string' ? path : path(group, role)}`;

/** Below `/v1/im/topics/{topic}`. */
export const topicBelow =
  (path: string | Text = ''): Text =>
  (group, role) =>
    `/v1/im/topics/${group.topic}${typeof path === 'string' ? path : path(group, role)}`;

/** A reading door that answers everybody: is the group in what he is shown? */
export const shown =
  (path: string): Door =>
  async ({ people, topic }, role) => {
    const answer = await people.rest(role, 'GET', path);
    const isShown = JSON.stringify(answer.body).includes(`"${topic}"`);
    return { ...answer, verdict: answer.verdict === 'ok' && !isShown ? 'NOT_MEMBER' : answer.verdict };
  };
