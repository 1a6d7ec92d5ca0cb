import { randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';

/** Who this node is among its peers: new at every process start, and again when its lease was lost. */
@Injectable()
export class NodeIdentity {
  private current = NodeIdentity.fresh();

  get id(): string {
    return this.current;
  }

  /** Takes a new id; what was registered under the old one is dead. */
  renew(): string {
    this.current = NodeIdentity.fresh();
    return this.current;
  }

  private static fresh(): string {
    return `n${randomBytes(8).toString('hex')}`;
  }
}
