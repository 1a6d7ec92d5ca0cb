import { Module } from '@nestjs/common';
import { AuditModule } from '../audit/audit.module.js';
import { MessageLogModule } from '../message-log/message-log.module.js';
import { RelationModule } from '../relation/relation.module.js';
import { TopicModule } from '../topic/topic.module.js';
import { DirectAccess } from './direct-access.js';
import { DirectChangeService } from './direct-change.service.js';
import { DirectFanout } from './direct-fanout.js';
import { DirectHistoryService } from './direct-history.service.js';
import { DirectMessageService } from './direct-message.service.js';
import { DirectMessageStore } from './direct-message.store.js';
import { DirectQuotes } from './direct-quotes.js';
import { DirectSendService } from './direct-send.service.js';
import { DirectWriter } from './direct-writer.js';
import { OpenOutcomes } from './open-outcomes.js';

@Module({
  imports: [AuditModule, MessageLogModule, RelationModule, TopicModule],
  providers: [
    DirectMessageStore,
    DirectAccess,
    DirectQuotes,
    DirectFanout,
    OpenOutcomes,
    DirectWriter,
    DirectSendService,
    DirectHistoryService,
    DirectChangeService,
    DirectMessageService,
  ],
  exports: [DirectMessageService],
})
export class DirectMessageModule {}
