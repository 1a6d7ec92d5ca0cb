import { Module } from '@nestjs/common';
import { GroupModule } from '../group/group.module.js';
import { TopicModule } from '../topic/topic.module.js';
import { AdmissionService } from './admission.service.js';
import { BatchWriter } from './batch-writer.js';
import { FanoutService } from './fanout.service.js';
import { GroupMessageRedis } from './group-message.redis.js';
import { GroupMessageService } from './group-message.service.js';
import { GroupMessageStore } from './group-message.store.js';
import { HeadService } from './head.service.js';
import { HistoryService } from './history.service.js';
import { RebaseService } from './rebase.service.js';
import { SendService } from './send.service.js';
import { TombstoneService } from './tombstone.service.js';

@Module({
  imports: [GroupModule, TopicModule],
  providers: [
    GroupMessageRedis,
    GroupMessageStore,
    RebaseService,
    BatchWriter,
    AdmissionService,
    FanoutService,
    HeadService,
    HistoryService,
    TombstoneService,
    SendService,
    GroupMessageService,
  ],
  exports: [GroupMessageService],
})
export class GroupMessageModule {}
