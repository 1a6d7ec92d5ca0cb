import type { Type } from '@nestjs/common';
import type { TokenPair } from '../../../src/modules/auth/auth.types.js';
import { TenantService } from '../../../src/modules/tenant/tenant.service.js';
import { RedisClients } from '../../../src/platform/redis/redis-clients.js';
import { givenServers } from '../../support/environment.js';
import { Stage, type RestAnswer } from '../../support/stage.js';
import { Wire } from './wire.js';

export { PASSWORD } from '../../support/stage.js';
export { until } from '../../support/until.js';

type CallOptions = Parameters<Stage['call']>[3];
type Node = Awaited<ReturnType<Stage['inProcess']>>;

/** One node inside the test, whose way to Redis can be cut. */
export class World {
  private constructor(
    readonly stage: Stage,
    readonly node: Node,
    readonly redis: Wire,
  ) {}

  /** @param fill makes the tenants, before the node starts */
  static async open(fill: (stage: Stage) => Promise<void>, settings: Record<string, string> = {}): Promise<World> {
    const url = new URL(givenServers().redis);
    const redis = await Wire.to(url.hostname, Number(url.port || 6379));
    url.hostname = '127.0.0.1';
    url.port = String(redis.port);
    const stage = await Stage.open({ REDIS_URL: url.href, ...settings });
    await fill(stage);
    const node = await stage.inProcess();
    const world = new World(stage, node, redis);
    if (!(await world.get(RedisClients).waitReady(10_000))) throw new Error('Redis does not answer');
    return world;
  }

  get<T>(service: Type<T>): T {
    return this.node.application.nest.get(service, { strict: false });
  }

  /** Has the node read the tenants again. */
  reload(): Promise<boolean> {
    return this.get(TenantService).reload();
  }

  sql<T>(code: string, statement: string, values: unknown[] = []): Promise<T[]> {
    return this.stage.sql<T>(code, statement, values);
  }

  call<T = Record<string, unknown>>(method: string, path: string, options: CallOptions = {}): Promise<RestAnswer<T>> {
    return this.stage.call<T>(this.node, method, path, options);
  }

  async loginToken(code: string): Promise<string> {
    const answer = await this.call<{ loginToken: string }>('POST', '/v1/auth/enterprise', { body: { code } });
    return answer.body.loginToken;
  }

  login(code: string, account: string): ReturnType<Stage['login']> {
    return this.stage.login(this.node, code, account);
  }

  refresh(refreshToken: string): Promise<RestAnswer<TokenPair>> {
    return this.call<TokenPair>('POST', '/v1/auth/refresh', { body: { refreshToken } });
  }

  async close(): Promise<void> {
    this.redis.mend();
    await this.stage.close();
    await this.redis.close();
  }
}
