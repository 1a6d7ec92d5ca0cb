import type { Action, Door } from './permissions/actions.js';
import { CHAT_ACTIONS, USER_ACTIONS, type Call } from './permissions/chat-actions.js';
import { Chats } from './permissions/chats.js';
import { GROUP_ACTIONS } from './permissions/group-actions.js';
import { Group } from './permissions/group.js';
import { MESSAGE_ACTIONS } from './permissions/message-actions.js';
import { People } from './permissions/people.js';
import {
  CHAT_RULES,
  DISMISSED,
  MISSING,
  ROLES,
  RULES,
  SIDES,
  USER_RULES,
  type Role,
  type Rule,
  type SideRule,
  type Verdict,
} from './permissions/rules.js';

const ACTIONS: readonly Action[] = [...MESSAGE_ACTIONS, ...GROUP_ACTIONS];

interface Cell {
  readonly name: string;
  readonly action: Action;
  readonly door: Door;
}

const CELLS: readonly Cell[] = ACTIONS.flatMap((action) =>
  Object.entries(action.doors).map(([door, call]) => ({ name: `${action.name} (${door})`, action, door: call })),
);

let people: People;

beforeAll(async () => {
  people = await People.open();
}, 120_000);
afterAll(() => people?.stage.close());

/** Reading changes no group: all that only read share those that are made alike. */
const shared = new Map<string, Promise<Group>>();
function groupFor(action: Action): Promise<Group> {
  if (!action.reads || action.early) return Group.make(people, action);
  const key = JSON.stringify([action.talks, action.settings]);
  const made = shared.get(key) ?? Group.make(people, action);
  shared.set(key, made);
  return made;
}

/** Asks for these roles at once. */
async function answers(group: Group, door: Door, roles: readonly Role[]): Promise<[Role, Verdict][]> {
  return Promise.all(roles.map(async (role): Promise<[Role, Verdict]> => [role, (await door(group, role)).verdict]));
}

describe('what a group offers', () => {
  it.each(CELLS)('$name', async ({ action, door }) => {
    const rule: Rule = RULES[action.rule];
    const group = await groupFor(action);
    await action.prepare?.(group);
    // 1. Who is refused is told why, and has changed nothing.
    const refused = ROLES.filter((role) => rule[role] !== 'ok');
    const before = await people.fingerprint();
    const told = await answers(group, door, refused);
    const between = await people.fingerprint();
    // 2. Who is allowed does it, one after the other.
    for (const role of ROLES.filter((one) => rule[one] === 'ok')) told.push(...(await answers(group, door, [role])));
    expect(Object.fromEntries(told)).toEqual(rule);
    expect(between).toBe(before);
    const somebodyMay = refused.length < ROLES.length;
    if (somebodyMay && !action.reads) expect(await people.fingerprint()).not.toBe(between);
    else expect(await people.fingerprint()).toBe(between);
  });

  it('is over for all of them when the group was dismissed', async () => {
    const group = await Group.make(people, { talks: true });
    for (const { early, prepare } of ACTIONS) {
      if (early === undefined) await prepare?.(group);
    }
    await people.must('owner', 'DELETE', group.at);
    await expectEverywhere(group, CELLS, ({ ends }) => ends ?? DISMISSED);
  }, 240_000);

  it('is refused alike where there is no such group', async () => {
    const group = new Group(people, 'grp_987654321');
    group.said.set('owner', 1).set('of owner', 1);
    for (const what of ['announcement', 'request', 'invite']) group.made.set(`${what} owner`, '1');
    const named = CELLS.filter(({ action }) => action.rule !== 'accepting');
    await expectEverywhere(group, named, () => MISSING);
  }, 240_000);
});

/** Asks for every role at every door; nothing of it changes anything. */
async function expectEverywhere(group: Group, cells: readonly Cell[], ruleOf: (action: Action) => Rule): Promise<void> {
  const before = await people.fingerprint();
  const told: Record<string, Rule> = {};
  for (const { name, door } of cells) told[name] = Object.fromEntries(await answers(group, door, ROLES)) as Rule;
  expect(told).toEqual(Object.fromEntries(cells.map(({ name, action }) => [name, ruleOf(action)])));
  expect(await people.fingerprint()).toBe(before);
}

/** Every way to do each of these, with what its rule says. */
const ways = <N extends string>(
  actions: readonly { name: string; rule: N; doors: Readonly<Record<string, Call>> }[],
  rules: Readonly<Record<N, SideRule>>,
): { name: string; call: Call; rule: SideRule }[] =>
  actions.flatMap(({ name, rule, doors }) =>
    Object.entries(doors).map(([door, call]) => ({ name: `${name} (${door})`, call, rule: rules[rule] })),
  );

describe('what a private chat offers', () => {
  it.each(ways(CHAT_ACTIONS, CHAT_RULES))('$name', async ({ call, rule }) => {
    const chats = await Chats.make(people);
    for (const side of SIDES) expect([side, await call(chats, side)]).toEqual([side, rule[side]]);
  });
});

describe('what passes between two users', () => {
  it.each(ways(USER_ACTIONS, USER_RULES))('$name', async ({ call, rule }) => {
    const chats = await Chats.make(people);
    for (const side of SIDES) expect([side, await call(chats, side)]).toEqual([side, rule[side]]);
  });
});
