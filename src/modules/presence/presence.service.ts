import { Injectable } from '@nestjs/common';
import { NodeBus } from '../../platform/redis/node-bus.js';
import { NodeIdentity } from '../../platform/redis/node-identity.js';
import { LEASE_MS, NodeLease } from './node-lease.js';

/** A frozen node is waited for until its lease must have ended, and a little longer. */
const ASK_TIMEOUT_MS = LEASE_MS + 5_000;

/** Which nodes there are, and requests to all of them. */
@Injectable()
export class PresenceService {
  constructor(
    private readonly identity: NodeIdentity,
    private readonly lease: NodeLease,
    private readonly bus: NodeBus,
  ) {}

  get nodeId(): string {
    return this.identity.id;
  }

  /** Do the other nodes take this one for living? Without that it must not deliver. */
  get leaseStands(): boolean {
    return this.lease.stands;
  }

  /** @throws RedisUnavailable */
  async livingNodes(): Promise<string[]> {
    return [...(await this.lease.living()).nodes];
  }

  onLeaseLost(listener: () => void): void {
    this.lease.onLost(listener);
  }

  onOthersGone(listener: (nodes: string[]) => void): void {
    this.lease.onOthersGone(listener);
  }

  countConnections(count: () => number): void {
    this.lease.countConnections(count);
  }

  /**
   * Has every living node carry out a request and waits for it.
   * @returns false when a living node did not confirm in time
   * @throws RedisUnavailable when the nodes cannot be asked
   */
  askLivingNodes(kind: string, payload: unknown, timeoutMs = ASK_TIMEOUT_MS): Promise<boolean> {
    return this.bus.askAll(kind, payload, { timeoutMs, livingNodes: () => this.lease.living() });
  }
}
