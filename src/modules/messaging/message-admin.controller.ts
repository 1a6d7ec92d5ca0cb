import { Body, Controller, HttpCode, Param, Post } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiParam } from '@nestjs/swagger';
import { Admin } from '../../platform/http/admin.guard.js';
import { CurrentOperator, type Operator } from '../../platform/http/operator.js';
import { IdPipe, SeqPipe, TopicPipe } from '../../platform/http/topic.pipe.js';
import { asTenantId, type Seq, type Topic } from '../../platform/ids/ids.js';
import type { ChangeAnswer } from '../group-message/group-message.types.js';
import { BlockBodyDto, ChangeAnswerDto } from './dto/change.dto.js';
import { MessagingService } from './messaging.service.js';

/** What the operator does to messages. */
@Admin()
@ApiParam({ name: 'tenant', example: '1' })
@ApiParam({ name: 'topic', example: 'grp_1' })
@Controller('v1/admin/tenants/:tenant/topics/:topic/messages/:seq')
export class MessageAdminController {
  constructor(private readonly messaging: MessagingService) {}

  @Post('block')
  @HttpCode(200)
  @ApiOperation({ summary: 'Block a message: nobody can read it any more; written to the audit log' })
  @ApiOkResponse({ type: ChangeAnswerDto })
  block(
    @Param('tenant', IdPipe) tenant: string,
    @Param('topic', TopicPipe) topic: Topic,
    @Param('seq', SeqPipe) seq: Seq,
    @Body() body: BlockBodyDto,
    @CurrentOperator() by: Operator,
  ): Promise<ChangeAnswer> {
    return this.messaging.block(asTenantId(tenant), topic, seq, body.reason ?? null, by);
  }
}
