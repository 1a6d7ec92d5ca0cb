import { Body, Controller, Delete, Get, HttpCode, Param, Patch, Post, Query } from '@nestjs/common';
import { ApiBearerAuth, ApiNoContentResponse, ApiOkResponse, ApiOperation, ApiParam, ApiTags } from '@nestjs/swagger';
import { CurrentActor } from '../../platform/http/actor.js';
import { SeqPipe, TopicPipe } from '../../platform/http/topic.pipe.js';
import type { Actor, Seq, Topic } from '../../platform/ids/ids.js';
import type { ChangeAnswer, ChangesPage } from '../group-message/group-message.types.js';
import { ChangeAnswerDto, ChangesPageDto, ChangesQueryDto, EditBodyDto, HideBodyDto } from './dto/change.dto.js';
import { MessagingService } from './messaging.service.js';

/** Changes of messages by REST. */
@ApiTags('messages')
@ApiBearerAuth()
@ApiParam({ name: 'topic', example: 'grp_1' })
@Controller('v1/im/topics/:topic')
export class ChangeController {
  constructor(private readonly messaging: MessagingService) {}

  @Get('changes')
  @ApiOperation({ summary: 'Edits, recalls and removals since a change number, as topic:changes' })
  @ApiOkResponse({ type: ChangesPageDto })
  changes(
    @CurrentActor() actor: Actor,
    @Param('topic', TopicPipe) topic: Topic,
    @Query() query: ChangesQueryDto,
  ): Promise<ChangesPage> {
    return this.messaging.changes(actor, topic, query.afterChange, query.limit);
  }

  @Patch('messages/:seq')
  @ApiOperation({ summary: 'Edit an own message, as message:edit' })
  @ApiOkResponse({ type: ChangeAnswerDto })
  edit(
    @CurrentActor() actor: Actor,
    @Param('topic', TopicPipe) topic: Topic,
    @Param('seq', SeqPipe) seq: Seq,
    @Body() body: EditBodyDto,
  ): Promise<ChangeAnswer> {
    return this.messaging.edit(actor, topic, seq, body.content, body.version);
  }

  @Delete('messages/:seq')
  @ApiOperation({ summary: 'Remove a message for everyone (group admins), as message:remove' })
  @ApiOkResponse({ type: ChangeAnswerDto })
  remove(
    @CurrentActor() actor: Actor,
    @Param('topic', TopicPipe) topic: Topic,
    @Param('seq', SeqPipe) seq: Seq,
  ): Promise<ChangeAnswer> {
    return this.messaging.remove(actor, topic, seq);
  }

  @Post('messages/:seq/recall')
  @HttpCode(200)
  @ApiOperation({ summary: 'Take a message back, as message:recall' })
  @ApiOkResponse({ type: ChangeAnswerDto })
  recall(
    @CurrentActor() actor: Actor,
    @Param('topic', TopicPipe) topic: Topic,
    @Param('seq', SeqPipe) seq: Seq,
  ): Promise<ChangeAnswer> {
    return this.messaging.recall(actor, topic, seq);
  }

  @Post('messages/hide')
  @HttpCode(204)
  @ApiOperation({ summary: 'Delete messages for oneself, as message:delete' })
  @ApiNoContentResponse()
  hide(
    @CurrentActor() actor: Actor,
    @Param('topic', TopicPipe) topic: Topic,
    @Body() body: HideBodyDto,
  ): Promise<void> {
    return this.messaging.hide(actor, topic, body.seqs);
  }
}
