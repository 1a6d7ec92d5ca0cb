import { Module } from '@nestjs/common';
import { DirectMessageModule } from '../direct-message/direct-message.module.js';
import { GroupModule } from '../group/group.module.js';
import { MessagingModule } from '../messaging/messaging.module.js';
import { PresenceModule } from '../presence/presence.module.js';
import { RelationModule } from '../relation/relation.module.js';
import { UserModule } from '../user/user.module.js';
import { BootstrapService } from './bootstrap.service.js';
import { ConversationTopics } from './conversation-topics.js';
import { ConversationController } from './conversation.controller.js';
import { ConversationGateway } from './conversation.gateway.js';
import { ConversationRedis } from './conversation.redis.js';
import { ConversationService } from './conversation.service.js';
import { CursorService } from './cursor.service.js';
import { CursorStore } from './cursor.store.js';
import { FirstScreenController } from './first-screen.controller.js';
import { SettingsService } from './settings.service.js';
import { SettingsStore } from './settings.store.js';
import { UnreadService } from './unread.service.js';
import { UnreadStore } from './unread.store.js';

@Module({
  imports: [DirectMessageModule, GroupModule, MessagingModule, PresenceModule, RelationModule, UserModule],
  controllers: [ConversationController, FirstScreenController],
  providers: [
    // what MySQL and Redis know
    CursorStore,
    SettingsStore,
    UnreadStore,
    ConversationRedis,
    // the read models
    ConversationTopics,
    UnreadService,
    ConversationService,
    BootstrapService,
    // what the user changes
    CursorService,
    SettingsService,
    ConversationGateway,
  ],
  exports: [ConversationService],
})
export class ConversationModule {}
