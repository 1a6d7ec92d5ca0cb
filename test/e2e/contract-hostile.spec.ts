import { ERROR_TABLE } from '../../src/platform/errors/error-table.js';
import type { RestAnswer } from '../support/stage.js';
import type { Described, Schema } from './contract/document.js';
import { HOSTILE_BODIES, HOSTILE_QUERIES, HOSTILE_SEGMENTS, oddFor, wrongFor } from './contract/hostile.js';
import { ContractWorld } from './contract/world.js';

let world: ContractWorld;
let right: Record<string, string>;

beforeAll(async () => {
  world = await ContractWorld.open();
  right = await world.parameters();
}, 120_000);
afterAll(() => world?.stage.close());

const isAdmin = ({ path }: Described): boolean => path.startsWith('/v1/admin');
const callerOf = (operation: Described): string =>
  isAdmin(operation) ? world.stage.environment.ADMIN_TOKEN : world.alice.accessToken;
const address = (path: string, other: Record<string, string> = {}): string =>
  path.replace(/\{(\w+)\}/g, (_, name: string) => other[name] ?? right[name]);

/** Calls that end sessions or replace all the node knows are left out: what they do is not what is hostile about them. */
const SPARED = ['POST /v1/auth/logout', 'POST /v1/admin/reload', 'POST /v1/admin/secrets/reseal'];
const targets = (): Described[] => world.operations.filter(({ name }) => !SPARED.includes(name));

/** Null for a refusal as the error table has it; else what is wrong with it. */
function misbehaves({ status, headers, body }: RestAnswer): string | null {
  const code = body.code as keyof typeof ERROR_TABLE | undefined;
  if (status < 400) return `${status}`;
  if (code === undefined || !(code in ERROR_TABLE) || code === 'INTERNAL') return `${status} ${JSON.stringify(body)}`;
  if (ERROR_TABLE[code].status !== status || status >= 500) return `${status} ${code}`;
  const told = ['type', 'title', 'detail', 'requestId'].every((name) => typeof body[name] === 'string');
  const isProblem = headers.get('content-type')?.includes('application/problem+json') === true;
  return told && isProblem ? null : `${status} ${JSON.stringify(body)}`;
}

/** Makes the calls, a few at a time. @returns those that were not refused as they should be */
async function refusedAll(calls: readonly { what: string; make: () => Promise<RestAnswer> }[]): Promise<string[]> {
  const wrong: string[] = [];
  for (let from = 0; from < calls.length; from += 8) {
    const answers = await Promise.all(
      calls.slice(from, from + 8).map(async ({ what, make }) => [what, misbehaves(await make())] as const),
    );
    for (const [what, problem] of answers) if (problem !== null) wrong.push(`${what}: ${problem}`);
  }
  return wrong;
}

const short = (value: unknown): string => (JSON.stringify(value) ?? 'undefined').slice(0, 60);
const bodied = ({ method }: Described): boolean => !['GET', 'DELETE'].includes(method);

/** As `refusedAll`; and afterwards everything is as it was. */
async function refusedWithoutTrace(calls: Parameters<typeof refusedAll>[0]): Promise<void> {
  const before = await world.fingerprint();
  expect(calls.length).toBeGreaterThan(20);
  expect(await refusedAll(calls)).toEqual([]);
  expect(await world.fingerprint()).toBe(before);
}

describe('every call of the document refuses', () => {
  it('addresses that name nothing', async () => {
    const calls = targets().flatMap((operation) =>
      [...operation.path.matchAll(/\{(\w+)\}/g)].flatMap(([, name]) =>
        // Names of settings are free text.
        isAdmin(operation) && ['group', 'key', 'type'].includes(name)
          ? []
          : HOSTILE_SEGMENTS.map((segment) => ({
              what: `${operation.name} with ${name} ${segment.slice(0, 20)}`,
              make: () => {
                const path = address(operation.path, { [name]: segment });
                return world.call(callerOf(operation), operation.method, path, bodied(operation) ? {} : undefined);
              },
            })),
      ),
    );
    await refusedWithoutTrace(calls);
  }, 240_000);

  it('bodies that are none of its own', async () => {
    const calls = targets()
      .filter((operation) => world.schemas.bodyOf(operation.operation))
      .flatMap((operation) =>
        HOSTILE_BODIES.map((body) => ({
          what: `${operation.name} with ${short(body)}`,
          make: () => world.call(callerOf(operation), operation.method, address(operation.path), body),
        })),
      );
    await refusedWithoutTrace(calls);
  }, 240_000);

  it('fields of another type', async () => {
    const calls = targets().flatMap((operation) =>
      fieldsOf(operation).flatMap(([field, schema]) =>
        wrongFor(schema).map((value) => ({
          what: `${operation.name} with ${field} ${short(value)}`,
          make: () => world.call(callerOf(operation), operation.method, address(operation.path), { [field]: value }),
        })),
      ),
    );
    await refusedWithoutTrace(calls);
  }, 240_000);

  it('queries that it does not know, and wrong ones', async () => {
    const calls = targets()
      .filter(({ method }) => method === 'GET')
      .flatMap((operation) => {
        const ask = (query: string): Promise<RestAnswer> =>
          world.call(callerOf(operation), 'GET', `${address(operation.path)}?${query}`);
        const queries = (operation.operation.parameters ?? []).filter((one) => one.in === 'query');
        const wrong = queries.flatMap(({ name, schema }) =>
          schema && ['number', 'integer'].includes(world.schemas.resolve(schema).type ?? '')
            ? [...HOSTILE_QUERIES.map((value) => `${name}=${value}`), `${name}=1&${name}=2`, `${name}[a]=1`, `${name}=`]
            : [`${name}[a]=1`, `${name}[]=1&${name}[]=2`],
        );
        const unknown = queries.length > 0 ? ['unknownField=1', '__proto__[a]=1', 'constructor=1'] : [];
        return [...wrong, ...unknown].map((query) => ({
          what: `${operation.name}?${query.slice(0, 40)}`,
          make: () => ask(query),
        }));
      });
    await refusedWithoutTrace(calls);
  }, 240_000);

  it('tokens that are none', async () => {
    const tokens = ['x', 'a.b.c', `${world.alice.accessToken}x`, world.mallory.accessToken.replace(/\..*\./, '.e30.')];
    const calls = targets()
      .filter(({ operation }) => operation.security !== undefined)
      .flatMap((operation) =>
        [...tokens, isAdmin(operation) ? world.alice.accessToken : world.stage.environment.ADMIN_TOKEN].map(
          (token) => ({
            what: `${operation.name} by ${token.slice(0, 10)}`,
            make: () =>
              world.call(token, operation.method, address(operation.path), bodied(operation) ? {} : undefined),
          }),
        ),
      );
    await refusedWithoutTrace(calls);
  }, 240_000);

  it('a user of another tenant, whatever of this one he names', async () => {
    const calls = targets()
      .filter((operation) => !isAdmin(operation) && /\{(topic|code|id)\}/.test(operation.path))
      .map((operation) => ({
        what: operation.name,
        make: () =>
          world.call(
            world.mallory,
            operation.method,
            address(operation.path) + (operation.path.endsWith('/changes') ? '?afterChange=0' : ''),
            bodied(operation) ? likely(operation) : undefined,
          ),
      }));
    await refusedWithoutTrace(calls);
  }, 120_000);
});

it('no call fails by itself over fields of no use', async () => {
  const wrong: string[] = [];
  for (const operation of targets()) {
    for (const [field, schema] of fieldsOf(operation)) {
      for (const value of oddFor(schema)) {
        const body = { ...likely(operation), [field]: value };
        const answer = await world.call(callerOf(operation), operation.method, address(operation.path), body);
        if (answer.status >= 400 && misbehaves(answer))
          wrong.push(`${operation.name} ${field} ${short(value)}: ${misbehaves(answer)}`);
      }
    }
  }
  expect(wrong).toEqual([]);
}, 240_000);

/** Fields of a call's body, with what the document says of them. */
function fieldsOf({ operation }: Described): [string, Schema][] {
  const { properties = {} } = world.schemas.bodyOf(operation) ?? {};
  return Object.entries(properties).map(([name, schema]) => [name, world.schemas.resolve(schema)]);
}

/** What most fields of these names take. */
function likely(operation: Described): Record<string, unknown> {
  const known: Record<string, unknown> = {
    ...{ uid: right.uid, uids: [right.uid], topic: right.topic, seq: 1, seqs: [1], version: 1, name: 'Name' },
    ...{ clientMsgId: 'hostile', type: 'text', content: { text: 'text' }, readSeq: 1, muted: true, value: '1' },
  };
  const required = world.schemas.bodyOf(operation.operation)?.required ?? [];
  const body = Object.fromEntries(required.filter((name) => name in known).map((name) => [name, known[name]]));
  return operation.path.includes('announcements') ? { content: 'Text' } : body;
}
