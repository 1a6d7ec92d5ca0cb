import { Module } from '@nestjs/common';
import { GroupModule } from '../group/group.module.js';
import { MessagingModule } from '../messaging/messaging.module.js';
import { ConversationController } from './conversation.controller.js';
import { ConversationService } from './conversation.service.js';

@Module({
  imports: [GroupModule, MessagingModule],
  controllers: [ConversationController],
  providers: [ConversationService],
})
export class ConversationModule {}
