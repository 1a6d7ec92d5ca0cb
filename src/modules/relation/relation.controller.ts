import { Body, Controller, Delete, Get, HttpCode, Param, Post, Query } from '@nestjs/common';
import {
  ApiBearerAuth,
  ApiCreatedResponse,
  ApiNoContentResponse,
  ApiOkResponse,
  ApiOperation,
  ApiTags,
} from '@nestjs/swagger';
import { invalid } from '../../platform/errors/app-error.js';
import { PageQuery } from '../../platform/http/page-query.js';
import { CurrentActor } from '../../platform/http/actor.js';
import { IdPipe } from '../../platform/http/topic.pipe.js';
import { asUserId, isDecimalId, type Actor, type UserId } from '../../platform/ids/ids.js';
import { AskFriendDto, ContextQuery, OtherUserDto, RequestsQuery } from './dto/relations.dto.js';
import { AskedFriendView, FriendRequestsView, RelationContextView, RelationsView } from './dto/relations.view.js';
import { RelationChanges } from './relation-changes.js';
import { RelationLists } from './relation-lists.js';
import { RelationService } from './relation.service.js';

function uidOf(text: string): UserId {
  if (!isDecimalId(text)) throw invalid('uid', 'must be a decimal id');
  return asUserId(text);
}

@ApiTags('relations')
@ApiBearerAuth()
@Controller('v1/im/relations')
export class RelationController {
  constructor(
    private readonly relations: RelationService,
    private readonly changes: RelationChanges,
    private readonly lists: RelationLists,
  ) {}

  @Get('context')
  @ApiOperation({ summary: 'How you and another user stand' })
  @ApiOkResponse({ type: RelationContextView })
  context(@CurrentActor() actor: Actor, @Query() { uid }: ContextQuery): Promise<RelationContextView> {
    return this.relations.context(actor.tenant, actor.uid, asUserId(uid));
  }

  @Get('friends')
  @ApiOperation({ summary: 'Your friends' })
  @ApiOkResponse({ type: RelationsView })
  friends(@CurrentActor() actor: Actor, @Query() query: PageQuery): Promise<RelationsView> {
    return this.lists.list(actor, 'friends', query);
  }

  @Post('friends')
  @HttpCode(200)
  @ApiOperation({ summary: 'Ask to be friends, or accept what the other has asked' })
  @ApiOkResponse({ type: AskedFriendView })
  addFriend(@CurrentActor() actor: Actor, @Body() { uid, message }: AskFriendDto): Promise<AskedFriendView> {
    return this.changes.ask(actor, asUserId(uid), message ?? '');
  }

  @Delete('friends/:uid')
  @HttpCode(204)
  @ApiOperation({ summary: 'End a friendship, for both' })
  @ApiNoContentResponse()
  removeFriend(@CurrentActor() actor: Actor, @Param('uid') uid: string): Promise<void> {
    return this.changes.unfriend(actor, uidOf(uid));
  }

  @Get('friend-requests')
  @ApiOperation({ summary: 'Pending requests, to you or of you' })
  @ApiOkResponse({ type: FriendRequestsView })
  requests(@CurrentActor() actor: Actor, @Query() query: RequestsQuery): Promise<FriendRequestsView> {
    return this.lists.requests(actor, query.direction, query);
  }

  @Post('friend-requests')
  @ApiOperation({ summary: 'Ask to be friends, or accept what the other has asked; asking twice is one request' })
  @ApiCreatedResponse({ type: AskedFriendView })
  ask(@CurrentActor() actor: Actor, @Body() { uid, message }: AskFriendDto): Promise<AskedFriendView> {
    return this.changes.ask(actor, asUserId(uid), message ?? '');
  }

  @Post('friend-requests/:id/accept')
  @HttpCode(204)
  @ApiOperation({ summary: 'Accept a request that you got' })
  @ApiNoContentResponse()
  accept(@CurrentActor() actor: Actor, @Param('id', IdPipe) id: string): Promise<void> {
    return this.changes.accept(actor, id);
  }

  @Post('friend-requests/:id/reject')
  @HttpCode(204)
  @ApiOperation({ summary: 'Reject a request that you got' })
  @ApiNoContentResponse()
  reject(@CurrentActor() actor: Actor, @Param('id', IdPipe) id: string): Promise<void> {
    return this.changes.reject(actor, id);
  }

  @Delete('friend-requests/:id')
  @HttpCode(204)
  @ApiOperation({ summary: 'Take a request of yours back' })
  @ApiNoContentResponse()
  withdraw(@CurrentActor() actor: Actor, @Param('id', IdPipe) id: string): Promise<void> {
    return this.changes.withdraw(actor, id);
  }

  @Get('blocklist')
  @ApiOperation({ summary: 'Whom you have blocked' })
  @ApiOkResponse({ type: RelationsView })
  blocklist(@CurrentActor() actor: Actor, @Query() query: PageQuery): Promise<RelationsView> {
    return this.lists.list(actor, 'blocklist', query);
  }

  @Post('blocklist')
  @HttpCode(204)
  @ApiOperation({ summary: 'Block a user: nothing passes between you any more, in either direction' })
  @ApiNoContentResponse()
  block(@CurrentActor() actor: Actor, @Body() { uid }: OtherUserDto): Promise<void> {
    return this.changes.block(actor, asUserId(uid));
  }

  @Delete('blocklist/:uid')
  @HttpCode(204)
  @ApiOperation({ summary: 'Unblock a user' })
  @ApiNoContentResponse()
  unblock(@CurrentActor() actor: Actor, @Param('uid') uid: string): Promise<void> {
    return this.changes.unblock(actor, uidOf(uid));
  }

  @Get('following')
  @ApiOperation({ summary: 'Whom you follow' })
  @ApiOkResponse({ type: RelationsView })
  following(@CurrentActor() actor: Actor, @Query() query: PageQuery): Promise<RelationsView> {
    return this.lists.list(actor, 'following', query);
  }

  @Post('following')
  @HttpCode(204)
  @ApiOperation({ summary: 'Follow a user' })
  @ApiNoContentResponse()
  follow(@CurrentActor() actor: Actor, @Body() { uid }: OtherUserDto): Promise<void> {
    return this.changes.follow(actor, asUserId(uid));
  }

  @Delete('following/:uid')
  @HttpCode(204)
  @ApiOperation({ summary: 'Follow a user no longer' })
  @ApiNoContentResponse()
  unfollow(@CurrentActor() actor: Actor, @Param('uid') uid: string): Promise<void> {
    return this.changes.unfollow(actor, uidOf(uid));
  }
}
