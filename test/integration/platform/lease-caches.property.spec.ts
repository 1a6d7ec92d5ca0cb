import fc from 'fast-check';
import { asTenantId } from '../../../src/platform/ids/ids.js';
import type { SetCache } from '../../../src/platform/redis/set-cache.js';
import type { ValueCache } from '../../../src/platform/redis/value-cache.js';
import { CacheNode } from '../../support/cache-node.js';
import { freshName } from '../../support/environment.js';

/**
 * Readers, writers, lost removals, outages and a Redis that forgets, in any order. The stored thing is a version that
 * only grows. Who reads after a change was acknowledged must not get what was before it: on any node, whatever other
 * readers were doing meanwhile. A change whose removal was lost (its node died) is not acknowledged; old copies of it end
 * with their time to live, or with the next change.
 */
const TENANT = asTenantId('7');
const SETTLE_MS = 2;

let nodes: CacheNode[];
let values: ValueCache<number>[];
let sets: SetCache[];
let runs = 0;

beforeAll(async () => {
  const name = freshName();
  nodes = [await CacheNode.open(name), await CacheNode.open(name)];
  values = nodes.map((node) => node.caches.values<number>(node.options('value')));
  sets = nodes.map((node) => node.caches.sets(node.options('set')));
});
afterAll(() => Promise.all(nodes.map((node) => node.close())));

type Step =
  | { readonly do: 'read' | 'write' | 'die' | 'outage' | 'back'; readonly node: 0 | 1 }
  | { readonly do: 'forget' | 'expire' }
  | { readonly do: 'go'; readonly which: number };

const node = fc.constantFrom<0 | 1>(0, 1);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ do: fc.constant('read' as const), node }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('write' as const), node }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('die' as const, 'outage' as const), node }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('back' as const), node }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('forget' as const, 'expire' as const) }) },
  { weight: 10, arbitrary: fc.record({ do: fc.constant('go' as const), which: fc.nat(20) }) },
);

/** One run: actors wait at gates, and the schedule opens them. */
class Run {
  private readonly id = String((runs += 1));
  private readonly gates: (() => void)[] = [];
  private readonly actors: Promise<void>[] = [];
  private stored = 1;
  /** Nobody who asks from now on may get less. */
  private floor = 1;
  private ended = false;
  readonly wrong: string[] = [];

  constructor(private readonly kind: 'value' | 'set') {}

  async play(steps: readonly Step[]): Promise<void> {
    for (const one of steps) {
      await this.act(one);
      await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
    }
    for (const each of nodes) each.scripts.down = false;
    let open = true;
    const over = Promise.all(this.actors).then(() => (open = false));
    while (open) {
      for (const go of this.gates.splice(0)) go();
      await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
    }
    await over;
    this.ended = true;
    await this.read(0);
  }

  private async act(one: Step): Promise<void> {
    if (one.do === 'go') this.gates.splice(one.which % Math.max(1, this.gates.length), 1)[0]?.();
    else if (one.do === 'forget') await this.drop();
    else if (one.do === 'expire') {
      await this.drop();
      this.floor = this.stored;
    } else if (one.do === 'read') this.actors.push(this.read(one.node));
    else if (one.do === 'outage' || one.do === 'back') nodes[one.node].scripts.down = one.do === 'outage';
    else if (one.do === 'write' || one.do === 'die') this.actors.push(this.write(one.node, one.do === 'write'));
  }

  private async read(at: 0 | 1): Promise<void> {
    const { floor } = this;
    const got = this.kind === 'value' ? await this.readValue(at) : await this.readSet(at);
    if (got < floor) this.wrong.push(`node ${at} read ${got}, and ${floor} was acknowledged before it asked`);
  }

  private async readValue(at: 0 | 1): Promise<number> {
    return (await values[at].get(TENANT, this.id, () => this.load())) ?? 0;
  }

  /** The set holds all versions up to the present one. */
  private async readSet(at: 0 | 1): Promise<number> {
    const asked = Array.from({ length: 30 }, (_, index) => String(index + 1));
    const found = await sets[at].among(TENANT, [this.id], asked, async () => {
      const version = await this.load();
      return new Map([[this.id, new Set(asked.slice(0, version))]]);
    });
    return found.get(this.id)?.size ?? 0;
  }

  private async load(): Promise<number> {
    await this.gate();
    const version = this.stored;
    await this.gate();
    return version;
  }

  private async write(at: 0 | 1, lives: boolean): Promise<void> {
    await this.gate();
    const version = (this.stored += 1);
    await this.gate();
    if (!lives) return;
    const cache = this.kind === 'value' ? values[at] : sets[at];
    const removed = await cache.invalidate(TENANT, [this.id]);
    await this.gate();
    if (removed) this.floor = Math.max(this.floor, version);
  }

  private gate(): Promise<void> {
    return this.ended ? Promise.resolve() : new Promise((resolve) => this.gates.push(resolve));
  }

  private async drop(): Promise<void> {
    const key = nodes[0].key(TENANT, this.kind, this.id);
    await nodes[0].clients.command.del(key);
  }
}

it.each(['value', 'set'] as const)(
  'no interleaving leaves an old %s beyond its bound',
  async (kind) => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 50 }), async (steps) => {
        const run = new Run(kind);
        await run.play(steps);
        expect(run.wrong).toEqual([]);
      }),
      { numRuns: 25 },
    );
  },
  120_000,
);
