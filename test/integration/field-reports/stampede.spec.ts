import { asSeq, type Topic } from '../../../src/platform/ids/ids.js';
import { actor, draft, PipelineWorld, type PipelineNode } from '../../support/pipeline.js';

/** B37: what is popular is lost, and everybody asks at once. */
const READERS = 1_000;
const MEMBERS = 20;

let world: PipelineWorld;
let nodes: PipelineNode[];
let topic: Topic;

beforeAll(async () => {
  world = await PipelineWorld.open();
  const env = { ...world.env, HOT_MIN_MEMBERS: 1 };
  nodes = [world.nodeOn(await world.machine(), env), world.nodeOn(await world.machine(), env)];
});
afterAll(() => world.close());
beforeEach(async () => {
  topic = await world.group(MEMBERS);
  for (let index = 0; index < 10; index += 1) await nodes[0].sends.send(actor('2'), draft(topic, `m${index}`));
  const { hot, hotMeta, access } = world.keys(topic);
  await world.client.unlink(hot, hotMeta, access);
});
afterEach(() => nodes.forEach((node) => (node.hooks.query = undefined)));

/** Counts the reads of each node's MySQL by the table that they begin with. */
function countQueries(): Map<string, number>[] {
  return nodes.map((node) => {
    const counts = new Map<string, number>();
    node.hooks.query = (sql, run) => {
      const table = /FROM (\w+)/.exec(sql)?.[1] ?? sql;
      counts.set(table, (counts.get(table) ?? 0) + 1);
      return run();
    };
    return counts;
  });
}

const readAll = (): Promise<unknown[]> =>
  Promise.all(
    Array.from({ length: READERS }, (_, index) =>
      nodes[index % 2].history.page(actor(String(1 + (index % MEMBERS))), topic, { afterSeq: asSeq(0), limit: 50 }),
    ),
  );

it('1,000 readers of a lost hot set are all answered, by a handful of queries a node', async () => {
  const counts = countQueries();
  const pages = await readAll();
  expect(new Set(pages.map((page) => JSON.stringify((page as { messages: unknown }).messages))).size).toBe(1);
  for (const count of counts) {
    // One after the other while the set is being filled: how many depends on the machine, never on the readers.
    expect(count.get('im_group_messages')).toBeLessThanOrEqual(READERS / 10);
    // One each reader, whoever asks how often.
    expect(count.get('im_groups') ?? 0).toBeLessThanOrEqual(2 * MEMBERS);
    expect(count.get('im_message_hides') ?? 0).toBeLessThanOrEqual(4 * MEMBERS);
  }
});

it('an error is shared with those who wait and not kept', async () => {
  nodes.forEach((node) => {
    node.hooks.query = (sql, run) => (sql.includes('im_group_messages') ? Promise.reject(new Error('away')) : run());
  });
  await expect(readAll()).rejects.toThrow('away');
  nodes.forEach((node) => (node.hooks.query = undefined));
  expect(await readAll()).toHaveLength(READERS);
});
