import { Module, type DynamicModule } from '@nestjs/common';
import { ConnectionModule } from './connection/connection.module.js';
import { AdminModule } from './modules/admin/admin.module.js';
import { AuthModule } from './modules/auth/auth.module.js';
import { ConfigModule } from './modules/config/config.module.js';
import { ConversationModule } from './modules/conversation/conversation.module.js';
import { DirectMessageModule } from './modules/direct-message/direct-message.module.js';
import { FavoriteModule } from './modules/favorite/favorite.module.js';
import { GroupModule } from './modules/group/group.module.js';
import { GroupMessageModule } from './modules/group-message/group-message.module.js';
import { IdempotencyModule } from './modules/idempotency/idempotency.module.js';
import { LimitsModule } from './modules/limits/limits.module.js';
import { MessagingModule } from './modules/messaging/messaging.module.js';
import { PresenceModule } from './modules/presence/presence.module.js';
import { RelationModule } from './modules/relation/relation.module.js';
import { TenantModule } from './modules/tenant/tenant.module.js';
import { UserModule } from './modules/user/user.module.js';
import type { Env } from './platform/env/env.js';
import { PlatformModule } from './platform/platform.module.js';
import { schemas } from './schema.js';

@Module({})
export class AppModule {
  static register(env: Env): DynamicModule {
    return {
      module: AppModule,
      imports: [
        PlatformModule.register(env, schemas),
        // Before the users' module: `users/presence` is no uid.
        PresenceModule,
        TenantModule,
        ConfigModule,
        AuthModule,
        LimitsModule,
        IdempotencyModule,
        UserModule,
        RelationModule,
        GroupModule,
        GroupMessageModule,
        DirectMessageModule,
        MessagingModule,
        ConversationModule,
        FavoriteModule,
        AdminModule,
        ConnectionModule,
      ],
    };
  }
}
