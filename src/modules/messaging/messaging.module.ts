import { Module } from '@nestjs/common';
import { DirectMessageModule } from '../direct-message/direct-message.module.js';
import { GroupMessageModule } from '../group-message/group-message.module.js';
import { ChangeController } from './change.controller.js';
import { ChangeGateway } from './change.gateway.js';
import { MessageAdminController } from './message-admin.controller.js';
import { MessagingController } from './messaging.controller.js';
import { MessagingGateway } from './messaging.gateway.js';
import { MessagingService } from './messaging.service.js';

@Module({
  imports: [DirectMessageModule, GroupMessageModule],
  controllers: [MessagingController, ChangeController, MessageAdminController],
  providers: [MessagingService, MessagingGateway, ChangeGateway],
  exports: [MessagingService],
})
export class MessagingModule {}
