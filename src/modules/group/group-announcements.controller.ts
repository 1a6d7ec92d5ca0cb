import { Body, Controller, Delete, Get, HttpCode, Param, Patch, Post, Query } from '@nestjs/common';
import {
  ApiBearerAuth,
  ApiCreatedResponse,
  ApiNoContentResponse,
  ApiOkResponse,
  ApiOperation,
  ApiTags,
} from '@nestjs/swagger';
import { PageQuery } from '../../platform/http/page-query.js';
import { CurrentActor } from '../../platform/http/actor.js';
import { IdPipe } from '../../platform/http/topic.pipe.js';
import type { Actor } from '../../platform/ids/ids.js';
import { AnnounceDto, ConfirmsQuery, PatchAnnouncementDto } from './dto/governance.dto.js';
import { AnnouncedView, AnnouncementsView, AnnouncementVersionsView, ConfirmsView } from './dto/governance.view.js';
import { groupTopicOf, notEmpty } from './dto/group-params.js';
import { GroupAnnouncementsService } from './group-announcements.service.js';

@ApiTags('groups')
@ApiBearerAuth()
@Controller('v1/im/groups')
export class GroupAnnouncementsController {
  constructor(private readonly announcements: GroupAnnouncementsService) {}

  @Get(':topic/announcements')
  @ApiOperation({ summary: 'Announcements of a group you are in' })
  @ApiOkResponse({ type: AnnouncementsView })
  list(
    @CurrentActor() actor: Actor,
    @Param('topic') topic: string,
    @Query() query: PageQuery,
  ): Promise<AnnouncementsView> {
    return this.announcements.list(actor, groupTopicOf(topic), query);
  }

  @Post(':topic/announcements')
  @ApiOperation({ summary: 'Announce (owner and admins, or members where the settings say so)' })
  @ApiCreatedResponse({ type: AnnouncedView })
  create(
    @CurrentActor() actor: Actor,
    @Param('topic') topic: string,
    @Body() { title = '', content }: AnnounceDto,
  ): Promise<AnnouncedView> {
    return this.announcements.create(actor, groupTopicOf(topic), { title, content });
  }

  @Patch(':topic/announcements/:id')
  @ApiOperation({ summary: 'Make a new version of an announcement (your own; owner and admins: any)' })
  @ApiOkResponse({ type: AnnouncedView })
  edit(
    @CurrentActor() actor: Actor,
    @Param('topic') topic: string,
    @Param('id', IdPipe) id: string,
    @Body() body: PatchAnnouncementDto,
  ): Promise<AnnouncedView> {
    const { title, content, version } = body;
    notEmpty({ title, content });
    return this.announcements.edit(actor, groupTopicOf(topic), id, { title, content, version });
  }

  @Delete(':topic/announcements/:id')
  @HttpCode(204)
  @ApiOperation({ summary: 'Take an announcement down (your own; owner and admins: any)' })
  @ApiNoContentResponse()
  remove(@CurrentActor() actor: Actor, @Param('topic') topic: string, @Param('id', IdPipe) id: string): Promise<void> {
    return this.announcements.remove(actor, groupTopicOf(topic), id);
  }

  @Get(':topic/announcements/:id/versions')
  @ApiOperation({ summary: 'History of an announcement' })
  @ApiOkResponse({ type: AnnouncementVersionsView })
  async versions(
    @CurrentActor() actor: Actor,
    @Param('topic') topic: string,
    @Param('id', IdPipe) id: string,
  ): Promise<AnnouncementVersionsView> {
    return { items: await this.announcements.versions(actor, groupTopicOf(topic), id) };
  }

  @Post(':topic/announcements/:id/confirm')
  @HttpCode(204)
  @ApiOperation({ summary: 'Say that you know its present version' })
  @ApiNoContentResponse()
  confirm(@CurrentActor() actor: Actor, @Param('topic') topic: string, @Param('id', IdPipe) id: string): Promise<void> {
    return this.announcements.confirm(actor, groupTopicOf(topic), id);
  }

  @Get(':topic/announcements/:id/confirms')
  @ApiOperation({ summary: 'Who has confirmed it, or has not (for those who may announce)' })
  @ApiOkResponse({ type: ConfirmsView })
  confirms(
    @CurrentActor() actor: Actor,
    @Param('topic') topic: string,
    @Param('id', IdPipe) id: string,
    @Query() query: ConfirmsQuery,
  ): Promise<ConfirmsView> {
    return this.announcements.confirms(actor, groupTopicOf(topic), id, query);
  }
}
