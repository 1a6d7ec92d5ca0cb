import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import type { TenantId, Topic, UserId } from '../../platform/ids/ids.js';
import { Logger } from '../../platform/observe/logger.js';
import { DirectFanout } from './direct-fanout.js';
import { DirectMessageStore, type DirectSend } from './direct-message.store.js';

const RETRY_MS = 1_000;
/** After it both sides are asked to look for themselves. */
const GIVE_UP_MS = 120_000;
const MAX_OPEN = 10_000;

interface Open {
  readonly tenant: TenantId;
  readonly topic: Topic;
  readonly from: UserId;
  readonly clientMsgId: string;
  readonly untilMs: number;
}

/**
 * Messages of which nobody knows whether they were stored: their senders were told to send again, and what was stored is
 * told to both sides as soon as MySQL says so, also when nobody does.
 */
@Injectable()
export class OpenOutcomes implements OnApplicationShutdown {
  private readonly open = new Map<string, Open>();
  private timer?: NodeJS.Timeout;
  private stopped = false;

  constructor(
    private readonly store: DirectMessageStore,
    private readonly fanout: DirectFanout,
    private readonly log: Logger,
  ) {}

  add(tenant: TenantId, topic: Topic, sends: readonly DirectSend[]): void {
    const untilMs = Date.now() + GIVE_UP_MS;
    for (const { from, body } of sends) {
      const { clientMsgId } = body.draft;
      if (this.open.size >= MAX_OPEN) return;
      this.open.set(`${tenant} ${topic} ${from} ${clientMsgId}`, { tenant, topic, from, clientMsgId, untilMs });
    }
    this.schedule();
  }

  onApplicationShutdown(): void {
    this.stopped = true;
    clearTimeout(this.timer);
  }

  private schedule(): void {
    if (this.stopped || this.timer || this.open.size === 0) return;
    this.timer = setTimeout(() => {
      void this.settleAll().finally(() => {
        this.timer = undefined;
        this.schedule();
      });
    }, RETRY_MS).unref();
  }

  private async settleAll(): Promise<void> {
    for (const [key, open] of [...this.open]) {
      try {
        await this.settle(open);
        this.open.delete(key);
      } catch (error) {
        const { tenant, topic } = open;
        this.log.debug({ tenant, topic, error: (error as Error).message }, 'the outcome of a send stays open');
        if (Date.now() < open.untilMs) continue;
        this.fanout.resync(tenant, topic);
        this.open.delete(key);
      }
    }
  }

  private async settle({ tenant, topic, from, clientMsgId }: Open): Promise<void> {
    const row = await this.store.findSettled(tenant, topic, from, clientMsgId);
    if (row) this.fanout.messages(tenant, topic, [row]);
  }
}
