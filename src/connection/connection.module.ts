import { Module } from '@nestjs/common';
import { AuthModule } from '../modules/auth/auth.module.js';
import { ConversationModule } from '../modules/conversation/conversation.module.js';
import { GroupModule } from '../modules/group/group.module.js';
import { LimitsModule } from '../modules/limits/limits.module.js';
import { MessagingModule } from '../modules/messaging/messaging.module.js';
import { PresenceModule } from '../modules/presence/presence.module.js';
import { RelationModule } from '../modules/relation/relation.module.js';
import { Closing } from './closing.js';
import { ConnectionService } from './connection.service.js';
import { Evictions } from './evictions.js';
import { Handshake } from './handshake.js';
import { HandshakeGate } from './handshake-gate.js';
import { LocalSockets } from './local-sockets.js';
import { MembershipService } from './membership.service.js';
import { OnlineTopics } from './online-topics.js';
import { ResyncService } from './resync.service.js';
import { SessionGateway } from './session.gateway.js';
import { ShutdownService } from './shutdown.service.js';
import { TopicGateway } from './topic.gateway.js';
import { TypingGateway } from './typing.gateway.js';

@Module({
  imports: [AuthModule, ConversationModule, GroupModule, LimitsModule, MessagingModule, PresenceModule, RelationModule],
  providers: [
    Closing,
    ConnectionService,
    Evictions,
    Handshake,
    HandshakeGate,
    LocalSockets,
    MembershipService,
    OnlineTopics,
    ResyncService,
    SessionGateway,
    ShutdownService,
    TopicGateway,
    TypingGateway,
  ],
  exports: [ShutdownService],
})
export class ConnectionModule {}
