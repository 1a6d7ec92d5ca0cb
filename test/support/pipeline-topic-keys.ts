import { asUserId, type Topic } from '../../src/platform/ids/ids.js';
import type { PipelineWorld } from './pipeline.js';

type Snapshot = readonly (readonly [key: string, dump: Buffer | null])[];

export type Disturbance = 'expire' | 'snapshot' | 'roll-back' | 'flush' | 'lose-key';

/** As a counter would say that was counted on another server. */
const OTHER_RUN_ID = 'f'.repeat(40);
const SENDERS = [asUserId('2'), asUserId('3')];

/** What can happen to a topic's keys in Redis without any node's doing. */
export class TopicKeys {
  private readonly snapshots: Snapshot[] = [];

  constructor(
    private readonly world: PipelineWorld,
    private readonly topic: Topic,
  ) {}

  async disturb(kind: Disturbance, choice: number, clients: number): Promise<void> {
    const { client } = this.world;
    const { lastSeq, inflight, deadlines, access, hot, hotMeta } = this.world.keys(this.topic);
    const claims = this.claims(clients);
    switch (kind) {
      case 'expire': {
        const seqs = await client.zrange(deadlines, '0', '-1');
        if (seqs.length > 0) await client.zadd(deadlines, 'XX', '1', seqs[choice % seqs.length]);
        return;
      }
      case 'snapshot':
        this.snapshots.push(await this.dump([lastSeq, inflight, deadlines, hot, hotMeta, ...claims]));
        return;
      case 'roll-back':
        if (this.snapshots.length > 0) await this.restore(this.snapshots[choice % this.snapshots.length]);
        return;
      case 'flush':
        await client.del(lastSeq, inflight, deadlines, access, hot, hotMeta, ...claims);
        return;
      case 'lose-key': {
        // Those that say what is in flight most often: their loss is the hardest to notice.
        const others = [lastSeq, access, hot, hotMeta, ...claims];
        await client.del([inflight, deadlines, others[(choice >> 2) % others.length]][choice % 3]);
        return;
      }
    }
  }

  private claims(clients: number): string[] {
    const ids = Array.from({ length: clients }, (_, index) => `m${index + 1}`);
    return ids.flatMap((id) => SENDERS.map((uid) => this.world.claimKey(this.topic, uid, id)));
  }

  private async dump(keys: readonly string[]): Promise<Snapshot> {
    return Promise.all(keys.map(async (key) => [key, await this.world.client.dumpBuffer(key)] as const));
  }

  /** As after a fail-over to a replica that was behind: all of the keys at once, counted on another server. */
  private async restore(snapshot: Snapshot): Promise<void> {
    const { lastSeq, hotMeta } = this.world.keys(this.topic);
    const all = this.world.client.multi();
    for (const [key, dump] of snapshot) {
      all.del(key);
      if (dump) all.restore(key, 0, dump);
    }
    for (const [key, dump] of snapshot) {
      if (dump && (key === lastSeq || key === hotMeta)) all.hset(key, 'run_id', OTHER_RUN_ID);
    }
    await all.exec();
  }
}
