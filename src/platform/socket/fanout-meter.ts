import type { Metrics } from '../observe/metrics.js';
import type { WriteCounts } from './room-rounds.js';

const MEMBER_BUCKETS = [500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000];

/** What the last hop counts; writes are counted by slices, not one by one. */
export class FanoutMeter {
  private readonly seconds;
  private readonly members;
  private readonly written;
  private readonly slow;

  constructor(metrics: Metrics) {
    this.seconds = metrics.histogram('im_fanout_seconds', 'Time of one round over the sockets of a large room');
    this.members = metrics.histogram(
      'im_topic_online_members',
      'Sockets of a large room on this node, at each round',
      [],
      MEMBER_BUCKETS,
    );
    this.written = metrics.counter('im_fanout_writes_total', 'Writes to sockets of rooms', ['way']);
    this.slow = metrics.counter('im_slow_consumers_total', 'Sockets that do not read what they get', ['result']);
  }

  round(seconds: number, members: number): void {
    this.seconds.observe(seconds);
    this.members.observe(members);
  }

  writes({ direct, normal, dropped }: WriteCounts): void {
    if (direct > 0) this.written.inc({ way: 'direct' }, direct);
    if (normal > 0) this.written.inc({ way: 'normal' }, normal);
    if (dropped > 0) this.written.inc({ way: 'dropped' }, dropped);
  }

  slowConsumer(result: 'behind' | 'caught_up' | 'closed'): void {
    this.slow.inc({ result });
  }
}
