import type { HistoryPage } from '../../../src/modules/group-message/group-message.types.js';
import { ChangeService } from '../../../src/modules/group-message/change.service.js';
import { HideService } from '../../../src/modules/group-message/hide.service.js';
import { TenantService } from '../../../src/modules/tenant/tenant.service.js';
import { asSeq, asUserId, type Topic } from '../../../src/platform/ids/ids.js';
import { RedisKeys } from '../../../src/platform/redis/keys.js';
import { RedisUnavailable } from '../../../src/platform/redis/redis-scripts.js';
import { actor, draft, PipelineWorld, TENANT, type PipelineNode } from '../../support/pipeline.js';
import type { Container } from '../../support/pipeline-container.js';
import { until } from '../../support/until.js';
import { Holder } from '../group-message/rows.js';

/** B36: a slow reader writes back what he read before a change. The sets of hot messages and of own deletions. */
const MARKER = 'heron-on-the-roof';

let world: PipelineWorld;
let a: PipelineNode;
let b: PipelineNode;
let topic: Topic;

const containerOf = (node: PipelineNode): Container => (node as unknown as { container: Container }).container;

beforeAll(async () => {
  world = await PipelineWorld.open();
  const env = { ...world.env, HOT_MIN_MEMBERS: 1 };
  [a, b] = [world.nodeOn(await world.machine(), env), world.nodeOn(await world.machine(), env)];
  const settings = { editWindowSeconds: 60, recallWindowSeconds: 60 };
  for (const node of [a, b]) containerOf(node).set(TenantService, { get: () => ({ settings }) });
});
afterAll(() => world.close());
beforeEach(async () => {
  topic = await world.group();
  await a.sends.send(actor('2'), draft(topic, 'secret', MARKER));
  await a.sends.send(actor('2'), draft(topic, 'other'));
});
afterEach(() => {
  for (const node of [a, b]) Object.assign(node.hooks, { script: undefined, statement: undefined, query: undefined });
});

const page = (node: PipelineNode, uid = '1'): Promise<HistoryPage> =>
  node.history.page(actor(uid), topic, { afterSeq: asSeq(0), limit: 10 });
const recall = (node: PipelineNode): Promise<unknown> =>
  containerOf(node).get(ChangeService).apply(actor('2'), topic, asSeq(1), { kind: 'recall' });

/** Both nodes have hot pages: what is cached is what they answer from. */
async function warm(uid = '1'): Promise<void> {
  for (const node of [a, b]) {
    await until('a page comes from the hot set', async () => (await page(node, uid)).source === 'hot');
  }
}

/** Holds the first answer of a read until it is let go; the data was read before. */
function pauseQuery(node: PipelineNode, words: string): { reached: Promise<void>; go: () => void } {
  let [reach, go] = [(): void => undefined, (): void => undefined];
  const reached = new Promise<void>((resolve) => (reach = resolve));
  const open = new Promise<void>((resolve) => (go = resolve));
  node.hooks.query = async (sql, run) => {
    const rows = await run();
    if (!sql.includes(words)) return rows;
    node.hooks.query = undefined;
    reach();
    await open;
    return rows;
  };
  return { reached, go: () => go() };
}

/** Holds a script of one node before or after it runs. */
function pauseScript(
  node: PipelineNode,
  script: string,
  when: 'before' | 'after',
): { reached: Promise<void>; go: () => void } {
  let [reach, go] = [(): void => undefined, (): void => undefined];
  const reached = new Promise<void>((resolve) => (reach = resolve));
  const open = new Promise<void>((resolve) => (go = resolve));
  node.hooks.script = async (name, run) => {
    if (name !== script) return run();
    node.hooks.script = undefined;
    const before = when === 'after' ? await run() : null;
    reach();
    await open;
    return when === 'after' ? before : run();
  };
  return { reached, go: () => go() };
}

/** Resolves when a script of this node has run. */
function whenRun(node: PipelineNode, script: string): Promise<void> {
  return new Promise((resolve) => {
    node.hooks.script = async (name, run) => {
      const reply = await run();
      if (name === script) resolve();
      return reply;
    };
  });
}

async function expectGone(): Promise<void> {
  for (let round = 0; round < 3; round += 1) {
    for (const node of [a, b]) {
      const read = await page(node);
      expect(JSON.stringify(read)).not.toContain(MARKER);
      expect(read.messages[0]).toMatchObject({ seq: 1, status: 'recalled', content: null });
    }
  }
}

describe('a page that was read before a recall', () => {
  it('is not filled in after it', async () => {
    await world.client.unlink(world.keys(topic).hot);
    const paused = pauseQuery(a, 'FROM im_group_messages');
    const filled = whenRun(a, 'hot_fill');
    const early = page(a);
    await paused.reached;
    await recall(b);
    paused.go();
    // That reader asked before the recall; what he takes away with him must not be left behind.
    expect(JSON.stringify(await early)).toContain(MARKER);
    await filled;
    await expectGone();
    await warm();
    await expectGone();
  });

  it('is not filled in after it into a set that was lost and begun anew meanwhile', async () => {
    await world.client.unlink(world.keys(topic).hot);
    const paused = pauseQuery(a, 'FROM im_group_messages');
    const filled = whenRun(a, 'hot_fill');
    const early = page(a);
    await paused.reached;
    await recall(b);
    await world.client.unlink(world.keys(topic).hot, world.keys(topic).hotMeta);
    await b.sends.send(actor('2'), draft(topic, 'third'));
    paused.go();
    await early;
    await filled;
    await expectGone();
  });

  it('is not filled in between the commit of the recall and the return of its copy', async () => {
    await world.client.unlink(world.keys(topic).hot);
    const paused = pauseQuery(a, 'FROM im_group_messages');
    const filled = whenRun(a, 'hot_fill');
    const early = page(a);
    await paused.reached;
    const closing = pauseScript(b, 'hot_close', 'before');
    const done = recall(b);
    await closing.reached;
    paused.go();
    await early;
    await filled;
    await expectGone();
    closing.go();
    await done;
    await expectGone();
  });

  it('is not filled in while the recall is under way, nor served from the set', async () => {
    await warm();
    // Inside its transaction, after the hot copy was withdrawn.
    const changing = pauseScript(b, 'hot_open', 'after');
    const done = recall(b);
    await changing.reached;
    for (const node of [a, b]) expect((await page(node)).source).toBe('mysql');
    changing.go();
    await done;
    await expectGone();
    await warm();
    await expectGone();
  });

  it('does not come back when Redis fails right after the commit', async () => {
    await warm();
    b.hooks.script = (name, run) => (name === 'hot_close' ? Promise.reject(new RedisUnavailable()) : run());
    await recall(b).catch((error: unknown) => expect(error).toMatchObject({ retryable: true }));
    b.hooks.script = undefined;
    await expectGone();
  });

  it('goes also when Redis forgot the open change, was filled with the old text, and failed right after the commit', async () => {
    await warm();
    const changing = pauseScript(b, 'hot_open', 'after');
    const done = recall(b);
    await changing.reached;
    await world.client.unlink(world.keys(topic).hot, world.keys(topic).hotMeta);
    await warm();
    let refused = 0;
    b.hooks.script = (name, run) => {
      if (name !== 'hot_close' || refused === 2) return run();
      refused += 1;
      return Promise.reject(new RedisUnavailable());
    };
    changing.go();
    await expect(done).rejects.toMatchObject({ code: 'SHORT_STATE_UNAVAILABLE', retryable: true });
    // Nobody repeats the call: the node closes what it owes.
    for (const node of [a, b]) {
      await until('the old text is gone from the hot set', async () => {
        const { messages, source } = await page(node);
        return source === 'hot' && messages[0].status === 'recalled';
      });
    }
    expect(refused).toBe(2);
    await expectGone();
  });

  it('is not changed past a permission that is being changed: the change waits, and sees it', async () => {
    const holder = new Holder(world.info);
    try {
      // As the group module does: the permission and the topic's number of it, in one transaction.
      await holder.run('START TRANSACTION');
      await holder.run(`UPDATE im_topic_seq SET acl_version = acl_version + 1 WHERE topic = '${topic}'`);
      await holder.run(`UPDATE im_group_members SET state = 'kicked' WHERE group_id = ${topic.slice(4)} AND uid = 2`);
      const done = recall(b).then(
        () => 'recalled',
        (error: { code: string }) => error.code,
      );
      await until('the change waits for the permission', async () => {
        const waits = await world.sql<{ waits: string }>(
          "SELECT COUNT(*) AS waits FROM information_schema.processlist WHERE info LIKE '%im_topic_seq%SHARE MODE'",
        );
        return Number(waits[0].waits) > 0;
      });
      await holder.run('COMMIT');
      expect(await done).toBe('NOT_MEMBER');
      expect((await world.rows(topic))[0]).toMatchObject({ status: 'normal' });
    } finally {
      holder.end();
    }
  });

  it('stays as it was when Redis fails before it: the recall is refused, not half done', async () => {
    await warm();
    b.hooks.script = (name, run) => (name === 'hot_open' ? Promise.reject(new RedisUnavailable()) : run());
    await expect(recall(b)).rejects.toMatchObject({ code: 'SHORT_STATE_UNAVAILABLE', retryable: true });
    b.hooks.script = undefined;
    expect((await world.rows(topic))[0]).toMatchObject({ status: 'normal' });
    await recall(b);
    await expectGone();
  });
});

describe('own deletions that were read before one more', () => {
  it('are not filled in after it: the message stays hidden on both nodes, and for its reader alone', async () => {
    await warm();
    const keys = new RedisKeys(world.env);
    await world.client.unlink(keys.of('topicHides', { t: TENANT, topic, uid: asUserId('1') }));
    const paused = pauseQuery(a, 'FROM im_message_hides');
    // Both the page and the load of the set ask; whichever comes first is held.
    const early = page(a);
    await paused.reached;
    await containerOf(b)
      .get(HideService)
      .hide(actor('1'), topic, [asSeq(1)]);
    paused.go();
    await early;
    for (let round = 0; round < 5; round += 1) {
      for (const node of [a, b]) expect((await page(node)).messages.map((message) => message.seq)).toEqual([2]);
    }
    expect((await page(b, '2')).messages.map((message) => message.seq)).toEqual([1, 2]);
  });
});
