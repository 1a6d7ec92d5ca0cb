import { Module } from '@nestjs/common';
import { RelationModule } from '../relation/relation.module.js';
import { UserModule } from '../user/user.module.js';
import { Announcer } from './announcer.js';
import { Departures } from './departures.js';
import { LastSeenWriter } from './last-seen.js';
import { LocalUsers } from './local-users.js';
import { NodeIndexRedis } from './node-index.redis.js';
import { NodeLease } from './node-lease.js';
import { NodesView } from './nodes-view.js';
import { OnlineMembers } from './online-members.js';
import { PresenceController } from './presence.controller.js';
import { PresenceGateway } from './presence.gateway.js';
import { PresenceQuery } from './presence-query.js';
import { PresenceReady } from './presence-ready.js';
import { PresenceRedis } from './presence.redis.js';
import { PresenceService } from './presence.service.js';
import { Reaper } from './reaper.js';
import { SessionRedis } from './session.redis.js';
import { Sessions } from './sessions.js';
import { SocketPresence } from './socket-presence.js';
import { PresenceStates } from './states.js';
import { TopicMembersRedis } from './topic-members.redis.js';
import { Watches } from './watches.js';

@Module({
  imports: [RelationModule, UserModule],
  controllers: [PresenceController],
  providers: [
    Announcer,
    Departures,
    LastSeenWriter,
    LocalUsers,
    NodeIndexRedis,
    NodeLease,
    NodesView,
    OnlineMembers,
    PresenceGateway,
    PresenceQuery,
    PresenceReady,
    PresenceRedis,
    PresenceService,
    PresenceStates,
    Reaper,
    SessionRedis,
    Sessions,
    SocketPresence,
    TopicMembersRedis,
    Watches,
  ],
  exports: [PresenceService],
})
export class PresenceModule {}
