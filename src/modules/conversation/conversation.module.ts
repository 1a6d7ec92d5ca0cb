import { Module } from '@nestjs/common';
import { GroupModule } from '../group/group.module.js';
import { MessagingModule } from '../messaging/messaging.module.js';
import { ConversationController } from './conversation.controller.js';
import { ConversationGateway } from './conversation.gateway.js';
import { ConversationService } from './conversation.service.js';
import { CursorService } from './cursor.service.js';
import { CursorStore } from './cursor.store.js';

@Module({
  imports: [GroupModule, MessagingModule],
  controllers: [ConversationController],
  providers: [CursorStore, CursorService, ConversationService, ConversationGateway],
  exports: [ConversationService],
})
export class ConversationModule {}
