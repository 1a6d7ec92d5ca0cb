import { Controller, Get, Query } from '@nestjs/common';
import { ApiBearerAuth, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { CurrentActor } from '../../platform/http/actor.js';
import type { Actor } from '../../platform/ids/ids.js';
import { ConversationService, type ConversationPage } from './conversation.service.js';
import { ConversationsDto, TopicsQueryDto } from './dto/topics.dto.js';

@ApiTags('conversations')
@ApiBearerAuth()
@Controller('v1/im/topics')
export class ConversationController {
  constructor(private readonly conversations: ConversationService) {}

  @Get()
  @ApiOperation({ summary: "The user's conversations with their newest message" })
  @ApiOkResponse({ type: ConversationsDto })
  list(@CurrentActor() actor: Actor, @Query() query: TopicsQueryDto): Promise<ConversationPage> {
    return this.conversations.list(actor, query.cursor, query.limit);
  }
}
