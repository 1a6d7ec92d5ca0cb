import { Body, Controller, Get, Header, Param, Post, Query } from '@nestjs/common';
import { ApiBearerAuth, ApiCreatedResponse, ApiOkResponse, ApiOperation, ApiParam, ApiTags } from '@nestjs/swagger';
import { CurrentActor } from '../../platform/http/actor.js';
import { Spends } from '../../platform/http/spends.js';
import { TopicPipe } from '../../platform/http/topic.pipe.js';
import type { Actor, Topic } from '../../platform/ids/ids.js';
import type { SendAnswer } from '../group-message/group-message.types.js';
import { HistoryPageDto, HistoryQueryDto } from './dto/history.dto.js';
import { SendAnswerDto, SendBodyDto } from './dto/send.dto.js';
import { MessagingService } from './messaging.service.js';

/** Messages by REST, for bots and servers. */
@ApiTags('messages')
@ApiBearerAuth()
@ApiParam({ name: 'topic', example: 'grp_1' })
@Controller('v1/im/topics/:topic/messages')
export class MessagingController {
  constructor(private readonly messaging: MessagingService) {}

  @Get()
  @ApiOperation({ summary: 'A page of messages, as message:history' })
  @ApiOkResponse({ type: HistoryPageDto })
  @Header('Content-Type', 'application/json; charset=utf-8')
  async history(
    @CurrentActor() actor: Actor,
    @Param('topic', TopicPipe) topic: Topic,
    @Query() query: HistoryQueryDto,
  ): Promise<string> {
    const page = await this.messaging.history(actor, topic, query);
    return page.answer.text;
  }

  @Post()
  @Spends('send')
  @ApiOperation({ summary: 'Send a message, as message:send' })
  @ApiCreatedResponse({ type: SendAnswerDto })
  send(
    @CurrentActor() actor: Actor,
    @Param('topic', TopicPipe) topic: Topic,
    @Body() body: SendBodyDto,
  ): Promise<SendAnswer> {
    return this.messaging.send(actor, topic, body);
  }
}
