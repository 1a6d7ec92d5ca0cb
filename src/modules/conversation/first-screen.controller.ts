import { Controller, Get } from '@nestjs/common';
import { ApiBearerAuth, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { CurrentActor } from '../../platform/http/actor.js';
import type { Actor } from '../../platform/ids/ids.js';
import { BootstrapService } from './bootstrap.service.js';
import { ConversationService } from './conversation.service.js';
import type { Bootstrap, UnreadAnswer } from './conversation.types.js';
import { BootstrapDto, UnreadDto } from './dto/topics.dto.js';

/** What a client asks first. */
@ApiTags('conversations')
@ApiBearerAuth()
@Controller('v1/im')
export class FirstScreenController {
  constructor(
    private readonly conversations: ConversationService,
    private readonly screens: BootstrapService,
  ) {}

  @Get('unread')
  @ApiOperation({ summary: 'Unread messages in total, and by conversation' })
  @ApiOkResponse({ type: UnreadDto })
  unread(@CurrentActor() actor: Actor): Promise<UnreadAnswer> {
    return this.conversations.unread(actor);
  }

  @Get('bootstrap')
  @ApiOperation({ summary: 'The first screen in one call: own profile, conversations, unread total' })
  @ApiOkResponse({ type: BootstrapDto })
  bootstrap(@CurrentActor() actor: Actor): Promise<Bootstrap> {
    return this.screens.of(actor);
  }
}
