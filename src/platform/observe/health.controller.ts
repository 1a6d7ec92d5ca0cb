import { Controller, Get, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { Response } from 'express';
import { Public } from '../http/actor.js';
import { Spends } from '../http/spends.js';
import { Coalesced } from '../mysql/coalesced.js';
import { ControlDb } from '../mysql/control-db.js';
import { NodeIdentity } from '../redis/node-identity.js';
import { RedisScripts } from '../redis/redis-scripts.js';
import { Metrics } from './metrics.js';
import { Readiness } from './readiness.js';

const CONTROL_TIMEOUT_MS = 1_000;

/** For load balancers and operators, outside `/v1`. */
@Public()
@Spends('nothing')
@ApiExcludeController()
@Controller()
export class HealthController {
  /** However many ask, the servers are asked once at a time. */
  private readonly looks = new Coalesced<{ control: boolean; redis: boolean }>();

  constructor(
    private readonly identity: NodeIdentity,
    private readonly control: ControlDb,
    private readonly scripts: RedisScripts,
    private readonly readiness: Readiness,
    private readonly metrics: Metrics,
  ) {}

  /** The process runs; nothing else is asked. */
  @Get('health/live')
  live(): object {
    return { status: 'ok', nodeId: this.identity.id };
  }

  /** May the node be sent traffic? 503 while it starts, drains, lacks its lease, or Redis or the control database is away. */
  @Get('health/ready')
  async ready(@Res() response: Response): Promise<void> {
    const { control, redis } = await this.looks.run('servers', () => this.lookAtServers());
    const accepting = this.readiness.accepting;
    const conditions = this.readiness.checks;
    const ready = control && redis && accepting && Object.values(conditions).every(Boolean);
    response.status(ready ? 200 : 503).json({
      status: ready ? 'ready' : 'not ready',
      nodeId: this.identity.id,
      checks: { redis: redis ? 'up' : 'down', controlDatabase: control ? 'up' : 'down', accepting, ...conditions },
    });
  }

  @Get('metrics')
  async prometheus(@Res() response: Response): Promise<void> {
    response.type(this.metrics.registry.contentType).send(await this.metrics.registry.metrics());
  }

  private async lookAtServers(): Promise<{ control: boolean; redis: boolean }> {
    const [control, redis] = await Promise.all([this.control.isUp(CONTROL_TIMEOUT_MS), this.redisUp()]);
    return { control, redis };
  }

  private redisUp(): Promise<boolean> {
    return this.scripts
      .command('ping', (client) => client.ping())
      .then(
        () => true,
        () => false,
      );
  }
}
