import ts from 'typescript';
import type { Repository } from 'typeorm';
import { UserEntity } from '../../../src/modules/user/user.entity.js';
import { filesBelow } from '../../unit/house/sources.js';
import { PipelineWorld, TENANT, type PipelineNode } from '../../support/pipeline.js';
import { asTopic, asUserId } from '../../../src/platform/ids/ids.js';

/** B73: a look-up without its condition finds, changes or deletes somebody else's row. */
interface Statement {
  readonly path: string;
  readonly sql: string;
}

const READS_OR_CHANGES = /^(SELECT\b[\s\S]*?\bFROM|UPDATE|DELETE FROM)\s+`?im_/;

/** Texts in the sources that read, change or delete rows of tenants' tables; whole, also where a template holds another one. */
function statements(): Statement[] {
  const found: Statement[] = [];
  for (const { path, text } of filesBelow('src', '.ts')) {
    if (/^src\/(migrations|cli)\//.test(path)) continue;
    const visit = (node: ts.Node): void => {
      if (ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node) || ts.isTemplateExpression(node)) {
        const sql = node.getText().slice(1, -1).trim();
        if (READS_OR_CHANGES.test(sql)) found.push({ path, sql });
      }
      ts.forEachChild(node, visit);
    };
    visit(ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true));
  }
  return found;
}

/**
 * Read whole, by the node itself and for nobody: the list of tenants, what they have set up with third parties, and one row
 * of any table to try a lock on.
 */
const WITHOUT_CONDITION = [
  'src/modules/tenant/',
  'src/modules/config/config.store.ts',
  'src/platform/mysql/shared-lock-check.ts',
];
/** An inner join with a list of ids is a condition, too. */
const CONDITION = /\bWHERE\b|^UPDATE \w+ \w+ JOIN \([\s\S]+?\) \w+ ON\b/;

describe('statements on tables of tenants', () => {
  it('are found', () => expect(statements().length).toBeGreaterThan(20));

  it('all have a condition', () => {
    const open = statements().filter(({ sql }) => !CONDITION.test(sql));
    expect(open.filter(({ path }) => !WITHOUT_CONDITION.some((known) => path.startsWith(known)))).toEqual([]);
  });
});

describe('a condition without its value', () => {
  let world: PipelineWorld;
  let node: PipelineNode;

  beforeAll(async () => {
    world = await PipelineWorld.open();
    node = await world.node();
    await world.sql("INSERT INTO im_users (account, nickname) VALUES ('first', 'first'), ('second', 'second')");
  });
  afterAll(() => world.close());

  const users = <T>(work: (repository: Repository<UserEntity>) => Promise<T>): Promise<T> =>
    node.databases.run(TENANT, (db) => db.of(UserEntity, work));

  it.each([undefined, null, {}, [], ''])('%j finds nobody, changes nobody and deletes nobody', async (id) => {
    const where = { id } as never;
    const found = await users((repository) => repository.findOneBy(where)).catch(() => null);
    expect(found).toBeNull();
    await users((repository) => repository.update(where, { nickname: 'changed' })).catch(() => undefined);
    await users((repository) => repository.delete(where)).catch(() => undefined);
    const rows = await world.sql<{ nickname: string }>('SELECT nickname FROM im_users ORDER BY id');
    expect(rows.map((row) => row.nickname)).toEqual(['first', 'second']);
  });

  it.each([undefined, null])('%j in a statement of our own is refused or matches nothing', async (value) => {
    const topic = await world.group();
    const uid = value as never;
    await expect(node.groups.loadAccess(TENANT, topic, uid)).rejects.toThrow();
    const pages = node.history.page({ tenant: TENANT, uid, sessionId: '1' }, topic, { limit: 10 });
    await expect(pages).rejects.toThrow();
    const nowhere = node.history.page({ tenant: TENANT, uid: asUserId('1'), sessionId: '1' }, value as never, {
      limit: 10,
    });
    await expect(nowhere).rejects.toThrow();
    const missing = await node.store.rowAt(TENANT, asTopic(topic), value as never).catch(() => null);
    expect(missing ?? null).toBeNull();
  });
});
