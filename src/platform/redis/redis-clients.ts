import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { Cluster, Redis, type RedisOptions } from 'ioredis';
import { ENV, type Env, type ToolEnv } from '../env/env.js';
import { Logger } from '../observe/logger.js';
import { Metrics } from '../observe/metrics.js';

export type RedisClient = Redis | Cluster;

/** A connection whose packets vanish is opened anew when nothing came for so long although something was asked. */
const SILENT_CONNECTION_MS = 5_000;

/** `command` fails fast; `pub` and `sub` carry fan-out and node requests and find their way back by themselves. */
type Role = 'command' | 'pub' | 'sub';

const backoffMs = (attempt: number): number =>
  Math.min(50 * 2 ** Math.min(attempt, 6), 1000) * (0.5 + Math.random() / 2);

function optionsOf(env: ToolEnv, role: Role): RedisOptions {
  return {
    connectTimeout: env.REDIS_DIAL_TIMEOUT_MS,
    retryStrategy: backoffMs,
    autoResendUnfulfilledCommands: false,
    // A subscriber that is frozen or cut without a FIN must notice: ioredis sends no pings by itself, TCP keep-alive does.
    keepAlive: 5_000,
    ...(role === 'command' && {
      socketTimeout: SILENT_CONNECTION_MS,
      enableOfflineQueue: false,
      commandTimeout: Math.max(env.REDIS_READ_TIMEOUT_MS, env.REDIS_WRITE_TIMEOUT_MS),
      maxRetriesPerRequest: 0,
    }),
    // With more retries, local delivery of the sharded adapter would wait for a Redis that is away.
    ...(role === 'pub' && {
      socketTimeout: SILENT_CONNECTION_MS,
      maxRetriesPerRequest: 1,
      enableOfflineQueue: false,
      commandTimeout: env.REDIS_WRITE_TIMEOUT_MS,
    }),
    ...(role === 'sub' && { maxRetriesPerRequest: null }),
  };
}

/**
 * After a reconnect ioredis subscribes again by itself and handles no refusal: a connection that ends in that moment would
 * be an unhandled rejection. It is asked for again with the next reconnect.
 */
function resubscribeQuietly(client: Redis): Redis {
  const methods = client as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>;
  for (const name of ['subscribe', 'psubscribe', 'ssubscribe']) {
    const original = methods[name].bind(client);
    methods[name] = (...args) => {
      const answer = original(...args);
      answer.catch(() => undefined);
      return answer;
    };
  }
  return client;
}

/** `redis://`, `rediss://`, `redis-sentinel://host:port,host:port/master[/db]`, `redis-cluster://host:port,host:port`. */
export function createRedisClient(env: ToolEnv, role: Role): RedisClient {
  const options = optionsOf(env, role);
  const url = env.REDIS_URL;
  const made = (client: Redis): Redis => (role === 'sub' ? resubscribeQuietly(client) : client);
  if (/^rediss?:/.test(url)) return made(new Redis(url, options));
  const match = /^redis-(sentinel|cluster):\/\/(?:([^:@/]*)(?::([^@/]*))?@)?([^/]+)(?:\/([^/]*))?(?:\/(\d+))?$/.exec(
    url,
  );
  if (!match) throw new Error('REDIS_URL is not usable: see .env.example for its forms');
  const [, kind, username, password, hostList, master, db] = match;
  const nodes = hostList.split(',').map((hostPort) => {
    const [host, port] = hostPort.split(':');
    return { host, port: Number(port ?? (kind === 'sentinel' ? 26379 : 6379)) };
  });
  const credentials = {
    ...(username ? { username: decodeURIComponent(username) } : {}),
    ...(password ? { password: decodeURIComponent(password) } : {}),
  };
  if (kind === 'sentinel') {
    const where = { sentinels: nodes, name: master || 'mymaster', db: Number(db ?? 0) };
    return made(new Redis({ ...options, ...credentials, ...where }));
  }
  return new Cluster(nodes, {
    shardedSubscribers: true,
    enableOfflineQueue: options.enableOfflineQueue ?? true,
    clusterRetryStrategy: backoffMs,
    maxRedirections: 3,
    redisOptions: { ...options, ...credentials },
  });
}

/** The process's Redis connections. Closed after HTTP and sockets are (a publish after quit would end the process). */
@Injectable()
export class RedisClients implements OnApplicationShutdown {
  readonly command: RedisClient;
  readonly pub: RedisClient;
  readonly sub: RedisClient;

  constructor(
    @Inject(ENV) env: Env,
    private readonly log: Logger,
    metrics: Metrics,
  ) {
    const up = metrics.gauge('im_redis_up', '1 while the command connection to Redis is ready');
    this.command = this.open(env, 'command');
    this.pub = this.open(env, 'pub');
    this.sub = this.open(env, 'sub');
    this.command.on('ready', () => up.set(1));
    this.command.on('close', () => up.set(0));
  }

  /** Is the command connection usable at this moment? */
  get ready(): boolean {
    return this.command.status === 'ready';
  }

  /** Waits until all three answer, at most `timeoutMs`. @returns whether they do. */
  async waitReady(timeoutMs: number): Promise<boolean> {
    const deadline = Date.now() + timeoutMs;
    const clients = [this.command, this.pub, this.sub];
    while (clients.some((client) => client.status !== 'ready')) {
      if (Date.now() > deadline) return false;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    return true;
  }

  async onApplicationShutdown(): Promise<void> {
    for (const client of [this.command, this.pub, this.sub]) client.disconnect();
  }

  private open(env: Env, role: Role): RedisClient {
    const client = createRedisClient(env, role);
    let reported = false;
    client.on('error', (error: Error) => {
      if (!reported) this.log.warn({ role, error: error.message }, 'redis connection failed');
      reported = true;
    });
    client.on('ready', () => {
      reported = false;
      this.log.info({ role }, 'redis connection is ready');
    });
    return client;
  }
}
