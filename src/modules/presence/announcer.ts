import { Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { Logger } from '../../platform/observe/logger.js';
import { Batches } from '../../platform/redis/batches.js';
import { NodeBus } from '../../platform/redis/node-bus.js';
import { userKey } from './local-users.js';
import type { PresenceChange } from './presence.types.js';

const KIND = 'presence:changes';
/** Changes in one message between nodes. */
const BATCH = 200;
const RETRY_MS = 1_000;
/** Users whose change waits for Redis. Above it the oldest is given up; its watchers are read anew after the outage. */
const MAX_OWED = 100_000;

/**
 * Tells all nodes which users came and went. What could not be told is told later, the newest of each user alone: a change
 * has its number, so telling one twice does no harm.
 */
@Injectable()
export class Announcer implements OnModuleInit, OnApplicationShutdown {
  private readonly owed = new Map<string, PresenceChange>();
  private readonly batches = new Batches<PresenceChange, null>(BATCH, (changes) => this.send(changes));
  private readonly listeners: ((changes: readonly PresenceChange[]) => void)[] = [];
  private timer?: NodeJS.Timeout;

  constructor(
    private readonly bus: NodeBus,
    private readonly log: Logger,
  ) {}

  onModuleInit(): void {
    this.bus.onTold<readonly PresenceChange[]>(KIND, (changes) => {
      for (const listener of this.listeners) listener(changes);
    });
  }

  onChanges(listener: (changes: readonly PresenceChange[]) => void): void {
    this.listeners.push(listener);
  }

  /** @returns whether all nodes were told now; else they are as soon as Redis answers. Never throws. */
  async tell(change: PresenceChange): Promise<boolean> {
    try {
      await this.batches.push(KIND, change);
      return true;
    } catch (error) {
      this.log.debug({ tenant: change.tenant, error: (error as Error).message }, 'a change of presence is told later');
      this.owe(change);
      return false;
    }
  }

  onApplicationShutdown(): void {
    clearInterval(this.timer);
  }

  private async send(changes: readonly PresenceChange[]): Promise<null[]> {
    await this.bus.tellAll(KIND, changes);
    return changes.map(() => null);
  }

  private owe(change: PresenceChange): void {
    const key = userKey(change.tenant, change.uid);
    if ((this.owed.get(key)?.version ?? 0) > change.version) return;
    this.owed.delete(key);
    if (this.owed.size >= MAX_OWED) this.owed.delete(this.owed.keys().next().value as string);
    this.owed.set(key, change);
    this.timer ??= setInterval(() => void this.payBack(), RETRY_MS).unref();
  }

  private async payBack(): Promise<void> {
    const changes = [...this.owed.values()].slice(0, BATCH * 10);
    for (const change of changes) this.owed.delete(userKey(change.tenant, change.uid));
    await Promise.all(changes.map((change) => this.tell(change)));
    if (this.owed.size > 0) return;
    clearInterval(this.timer);
    this.timer = undefined;
  }
}
