import { Injectable } from '@nestjs/common';
import { Redis } from 'ioredis';
import { RedisClients } from './redis-clients.js';

/**
 * Which Redis server the command connection leads to. A restart and a fail-over close the connection, so what was asked on
 * it holds as long as it stands; on a cluster there is no single answer, and scripts ask the server themselves.
 */
@Injectable()
export class KnownServer {
  private known: string | null = null;
  private connection = 0;

  constructor(clients: RedisClients) {
    const client = clients.command;
    if (!(client instanceof Redis)) return;
    client.on('close', () => {
      this.connection += 1;
      this.known = null;
    });
    client.on('ready', () => void this.ask(client));
    if (client.status === 'ready') void this.ask(client);
  }

  /** `run_id` of the server, 40 characters; null while it is not known. */
  get runId(): string | null {
    return this.known;
  }

  private async ask(client: Redis): Promise<void> {
    const { connection } = this;
    const info = await client.info('server').catch(() => '');
    const runId = /run_id:([0-9a-f]{40})/.exec(info)?.[1] ?? null;
    if (connection === this.connection) this.known = runId;
  }
}
