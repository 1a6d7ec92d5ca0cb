import { asTenantId } from '../../../src/platform/ids/ids.js';
import { PipelineWorld, TENANT, type PipelineNode } from '../../support/pipeline.js';
import { Holder, row } from './rows.js';

let world: PipelineWorld;
let node: PipelineNode;

beforeAll(async () => {
  world = await PipelineWorld.open();
  node = await world.node();
});
afterAll(() => world.close());

it('tombstones of a tenant whose table is held wait for it, those of another do not', async () => {
  const [held, free] = [await world.group(), await world.group()];
  const other = asTenantId('8');
  // Both are served by the same database here; what they share in the node is what is tried.
  expect(await node.tombstones.write(other, row(free, 1))).toBe('void');
  const holder = new Holder(world.info);
  try {
    await holder.run('START TRANSACTION');
    await holder.run(`SELECT epoch FROM im_topic_seq WHERE topic = '${held}' FOR UPDATE`);
    const ended: string[] = [];
    const waiting = [1, 2, 3, 4].map((seq) =>
      node.tombstones.write(TENANT, row(held, seq)).finally(() => ended.push('held')),
    );
    const passing = [2, 3, 4].map((seq) =>
      node.tombstones.write(other, row(free, seq)).finally(() => ended.push('free')),
    );
    expect(await Promise.all(passing)).toEqual(['void', 'void', 'void']);
    expect(ended).toEqual(['free', 'free', 'free']);
    await holder.run('COMMIT');
    for (const result of await Promise.all(waiting)) expect(['void', 'unknown']).toContain(result);
  } finally {
    holder.end();
  }
});
