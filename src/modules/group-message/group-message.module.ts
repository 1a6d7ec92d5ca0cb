import { Module } from '@nestjs/common';
import { AuditModule } from '../audit/audit.module.js';
import { GroupModule } from '../group/group.module.js';
import { MessageLogModule } from '../message-log/message-log.module.js';
import { TopicModule } from '../topic/topic.module.js';
import { AdmissionService } from './admission.service.js';
import { BatchWriter } from './batch-writer.js';
import { ChangeService } from './change.service.js';
import { ChangeStore } from './change.store.js';
import { FanoutService } from './fanout.service.js';
import { GroupMessageRedis } from './group-message.redis.js';
import { GroupMessageService } from './group-message.service.js';
import { GroupMessageStore } from './group-message.store.js';
import { HeadService } from './head.service.js';
import { HideService } from './hide.service.js';
import { HistoryService } from './history.service.js';
import { HotClosing } from './hot-closing.js';
import { HotPages } from './hot-pages.js';
import { HotPolicy } from './hot-policy.js';
import { HotRedis } from './hot.redis.js';
import { MysqlPages } from './mysql-pages.js';
import { QuoteService } from './quote.service.js';
import { RebaseService } from './rebase.service.js';
import { SendRules } from './send-rules.js';
import { SendService } from './send.service.js';
import { TombstoneService } from './tombstone.service.js';

@Module({
  imports: [AuditModule, GroupModule, MessageLogModule, TopicModule],
  providers: [
    // what Redis and MySQL know
    GroupMessageRedis,
    HotRedis,
    GroupMessageStore,
    ChangeStore,
    // sending
    RebaseService,
    BatchWriter,
    HotPolicy,
    AdmissionService,
    TombstoneService,
    FanoutService,
    SendRules,
    SendService,
    // reading
    QuoteService,
    HeadService,
    HotPages,
    MysqlPages,
    HistoryService,
    // changing
    HotClosing,
    ChangeService,
    HideService,
    GroupMessageService,
  ],
  exports: [GroupMessageService],
})
export class GroupMessageModule {}
