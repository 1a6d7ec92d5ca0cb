import { Body, Controller, Get, Param, Patch, Put, Query } from '@nestjs/common';
import { ApiBearerAuth, ApiOkResponse, ApiOperation, ApiParam, ApiTags } from '@nestjs/swagger';
import { CurrentActor } from '../../platform/http/actor.js';
import { TopicPipe } from '../../platform/http/topic.pipe.js';
import type { Actor, Topic } from '../../platform/ids/ids.js';
import { ConversationService } from './conversation.service.js';
import type { ConversationPage, ConversationSettings } from './conversation.types.js';
import { CursorService } from './cursor.service.js';
import type { Cursor } from './cursor.store.js';
import { CursorAnswerDto, CursorBodyDto } from './dto/cursor.dto.js';
import { ConversationsDto, SettingsBodyDto, SettingsDto, TopicsQueryDto } from './dto/topics.dto.js';
import { SettingsService } from './settings.service.js';

@ApiTags('conversations')
@ApiBearerAuth()
@Controller('v1/im/topics')
export class ConversationController {
  constructor(
    private readonly conversations: ConversationService,
    private readonly cursors: CursorService,
    private readonly settings: SettingsService,
  ) {}

  @Put(':topic/cursor')
  @ApiOperation({ summary: 'Raise the read or received cursor' })
  @ApiParam({ name: 'topic', example: 'grp_1' })
  @ApiOkResponse({ type: CursorAnswerDto })
  cursor(
    @CurrentActor() actor: Actor,
    @Param('topic', TopicPipe) topic: Topic,
    @Body() body: CursorBodyDto,
  ): Promise<Cursor> {
    return this.cursors.raise(actor, topic, body);
  }

  @Patch(':topic')
  @ApiOperation({ summary: 'Mute or pin a conversation, for oneself' })
  @ApiParam({ name: 'topic', example: 'grp_1' })
  @ApiOkResponse({ type: SettingsDto })
  change(
    @CurrentActor() actor: Actor,
    @Param('topic', TopicPipe) topic: Topic,
    @Body() body: SettingsBodyDto,
  ): Promise<ConversationSettings> {
    return this.settings.change(actor, topic, body);
  }

  @Get()
  @ApiOperation({ summary: "The user's conversations with their newest message" })
  @ApiOkResponse({ type: ConversationsDto })
  list(@CurrentActor() actor: Actor, @Query() query: TopicsQueryDto): Promise<ConversationPage> {
    return this.conversations.list(actor, query.cursor, query.limit);
  }
}
