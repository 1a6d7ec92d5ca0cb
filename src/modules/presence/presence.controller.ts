import { Controller, Get, Query } from '@nestjs/common';
import { ApiBearerAuth, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { CurrentActor } from '../../platform/http/actor.js';
import type { Actor } from '../../platform/ids/ids.js';
import { PresenceQueryDto, PresencesView } from './dto/presence.dto.js';
import { PresenceQuery } from './presence-query.js';
import type { Presence } from './presence.types.js';

/** Presence by REST. Its module stands before the users' own in AppModule, else `users/:uid` would take the call. */
@ApiTags('users')
@ApiBearerAuth()
@Controller('v1/im/users/presence')
export class PresenceController {
  constructor(private readonly query: PresenceQuery) {}

  @Get()
  @ApiOperation({ summary: 'Who is online, as far as the asker may see it; as presence:get' })
  @ApiOkResponse({ type: PresencesView })
  async get(@CurrentActor() actor: Actor, @Query() query: PresenceQueryDto): Promise<{ presences: Presence[] }> {
    return { presences: await this.query.presences(actor.tenant, actor.uid, query.uids) };
  }
}
