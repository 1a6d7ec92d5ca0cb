import { Body, Controller, Delete, Get, HttpCode, Param, Post, Query } from '@nestjs/common';
import {
  ApiBearerAuth,
  ApiCreatedResponse,
  ApiNoContentResponse,
  ApiOkResponse,
  ApiOperation,
  ApiParam,
  ApiTags,
} from '@nestjs/swagger';
import { PageQuery } from '../../platform/http/page-query.js';
import { CurrentActor } from '../../platform/http/actor.js';
import { IdPipe } from '../../platform/http/topic.pipe.js';
import { asUserId, type Actor } from '../../platform/ids/ids.js';
import { BanDto, InviteDto, JoinDto } from './dto/governance.dto.js';
import { BansView, InviteView, JoinAnswerView, JoinRequestsView } from './dto/governance.view.js';
import { groupTopicOf, inviteCodeOf, uidOf } from './dto/group-params.js';
import { GroupBansService } from './group-bans.service.js';
import { GroupInvitesService } from './group-invites.service.js';
import { GroupJoinRequestsService } from './group-join-requests.service.js';

@ApiTags('groups')
@ApiBearerAuth()
@Controller('v1/im')
export class GroupJoinsController {
  constructor(
    private readonly joins: GroupJoinRequestsService,
    private readonly invites: GroupInvitesService,
    private readonly bans: GroupBansService,
  ) {}

  @Get('groups/:topic/bans')
  @ApiOperation({ summary: 'Who is kept out (owner and admins)' })
  @ApiParam({ name: 'topic', type: String })
  @ApiOkResponse({ type: BansView })
  listBans(@CurrentActor() actor: Actor, @Param('topic') topic: string, @Query() query: PageQuery): Promise<BansView> {
    return this.bans.list(actor, groupTopicOf(topic), query);
  }

  @Post('groups/:topic/bans')
  @HttpCode(204)
  @ApiOperation({ summary: 'Keep a user out, and take him out (owner and admins); may be repeated until confirmed' })
  @ApiParam({ name: 'topic', type: String })
  @ApiNoContentResponse()
  ban(@CurrentActor() actor: Actor, @Param('topic') topic: string, @Body() body: BanDto): Promise<void> {
    const until = typeof body.until === 'string' ? new Date(body.until) : null;
    return this.bans.ban(actor, groupTopicOf(topic), asUserId(body.uid), until, body.reason ?? '');
  }

  @Delete('groups/:topic/bans/:uid')
  @HttpCode(204)
  @ApiOperation({ summary: 'Let a user come again (owner and admins)' })
  @ApiParam({ name: 'topic', type: String })
  @ApiNoContentResponse()
  unban(@CurrentActor() actor: Actor, @Param('topic') topic: string, @Param('uid') uid: string): Promise<void> {
    return this.bans.unban(actor, groupTopicOf(topic), uidOf(uid));
  }

  @Get('groups/:topic/join-requests')
  @ApiOperation({ summary: 'Who wants to be let in (owner and admins)' })
  @ApiParam({ name: 'topic', type: String })
  @ApiOkResponse({ type: JoinRequestsView })
  requests(
    @CurrentActor() actor: Actor,
    @Param('topic') topic: string,
    @Query() query: PageQuery,
  ): Promise<JoinRequestsView> {
    return this.joins.requests(actor, groupTopicOf(topic), query);
  }

  @Post('groups/:topic/join-requests')
  @ApiOperation({ summary: 'Ask to be let in; where the group wants no approval you are in at once' })
  @ApiParam({ name: 'topic', type: String })
  @ApiCreatedResponse({ type: JoinAnswerView })
  request(@CurrentActor() actor: Actor, @Param('topic') topic: string, @Body() body: JoinDto): Promise<JoinAnswerView> {
    return this.joins.request(actor, groupTopicOf(topic), body.message ?? '');
  }

  @Post('groups/:topic/join-requests/:id/approve')
  @HttpCode(204)
  @ApiOperation({ summary: 'Let one in who asked (owner and admins)' })
  @ApiParam({ name: 'topic', type: String })
  @ApiNoContentResponse()
  approve(@CurrentActor() actor: Actor, @Param('topic') topic: string, @Param('id', IdPipe) id: string): Promise<void> {
    return this.joins.decide(actor, groupTopicOf(topic), id, 'approved');
  }

  @Post('groups/:topic/join-requests/:id/reject')
  @HttpCode(204)
  @ApiOperation({ summary: 'Refuse one who asked (owner and admins)' })
  @ApiParam({ name: 'topic', type: String })
  @ApiNoContentResponse()
  reject(@CurrentActor() actor: Actor, @Param('topic') topic: string, @Param('id', IdPipe) id: string): Promise<void> {
    return this.joins.decide(actor, groupTopicOf(topic), id, 'rejected');
  }

  @Post('groups/:topic/invites')
  @ApiOperation({ summary: 'Make an invite code (owner and admins, or members where the settings say so)' })
  @ApiParam({ name: 'topic', type: String })
  @ApiCreatedResponse({ type: InviteView })
  invite(@CurrentActor() actor: Actor, @Param('topic') topic: string, @Body() body: InviteDto): Promise<InviteView> {
    const limits = { maxUses: body.maxUses ?? null, expiresInSeconds: body.expiresIn };
    return this.invites.create(actor, groupTopicOf(topic), limits);
  }

  @Delete('groups/:topic/invites/:code')
  @HttpCode(204)
  @ApiOperation({ summary: 'End an invite (its maker, owner and admins)' })
  @ApiParam({ name: 'topic', type: String })
  @ApiNoContentResponse()
  revoke(@CurrentActor() actor: Actor, @Param('topic') topic: string, @Param('code') code: string): Promise<void> {
    return this.invites.revoke(actor, groupTopicOf(topic), inviteCodeOf(code));
  }

  @Post('invites/:code/accept')
  @HttpCode(200)
  @ApiOperation({ summary: 'Join by an invite' })
  @ApiOkResponse({ type: JoinAnswerView })
  accept(@CurrentActor() actor: Actor, @Param('code') code: string): Promise<JoinAnswerView> {
    return this.invites.accept(actor, inviteCodeOf(code));
  }
}
