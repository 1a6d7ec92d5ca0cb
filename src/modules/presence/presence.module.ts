import { Module } from '@nestjs/common';
import { NodeLease } from './node-lease.js';
import { PresenceRedis } from './presence.redis.js';
import { PresenceService } from './presence.service.js';

@Module({
  providers: [PresenceRedis, NodeLease, PresenceService],
  exports: [PresenceService],
})
export class PresenceModule {}
