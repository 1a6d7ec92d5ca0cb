import { Body, Controller, Delete, Get, HttpCode, Param, Patch, Post, Query } from '@nestjs/common';
import {
  ApiBearerAuth,
  ApiCreatedResponse,
  ApiNoContentResponse,
  ApiOkResponse,
  ApiOperation,
  ApiTags,
} from '@nestjs/swagger';
import { CurrentActor } from '../../platform/http/actor.js';
import { asUserId, type Actor } from '../../platform/ids/ids.js';
import {
  AddMembersDto,
  CreateGroupDto,
  PatchGroupDto,
  PatchGroupSettingsDto,
  PatchMemberDto,
  TransferGroupDto,
} from './dto/group.dto.js';
import { groupTopicOf, notEmpty, uidOf } from './dto/group-params.js';
import { AddedMembersView, CreatedGroupView, GroupSettingsView, GroupView, MembersView } from './dto/group.view.js';
import { MembersQuery } from './dto/members-query.dto.js';
import { GroupLifeService } from './group-life.service.js';
import { GroupMembersService } from './group-members.service.js';
import { GroupReads } from './group-reads.js';
import { MemberList } from './member-list.js';

@ApiTags('groups')
@ApiBearerAuth()
@Controller('v1/im/groups')
export class GroupController {
  constructor(
    private readonly life: GroupLifeService,
    private readonly members: GroupMembersService,
    private readonly reads: GroupReads,
    private readonly list: MemberList,
  ) {}

  @Post()
  @ApiOperation({ summary: 'Make a group; you own it' })
  @ApiCreatedResponse({ type: CreatedGroupView })
  create(@CurrentActor() actor: Actor, @Body() body: CreateGroupDto): Promise<CreatedGroupView> {
    return this.life.create(actor, { ...body, memberUids: body.memberUids?.map(asUserId) });
  }

  @Get(':topic')
  @ApiOperation({ summary: 'Profile of a group you are in' })
  @ApiOkResponse({ type: GroupView })
  profile(@CurrentActor() actor: Actor, @Param('topic') topic: string): Promise<GroupView> {
    return this.reads.profile(actor, groupTopicOf(topic));
  }

  @Patch(':topic')
  @ApiOperation({ summary: 'Change the profile (owner and admins)' })
  @ApiOkResponse({ type: GroupView })
  async patchProfile(
    @CurrentActor() actor: Actor,
    @Param('topic') text: string,
    @Body() body: PatchGroupDto,
  ): Promise<GroupView> {
    const topic = groupTopicOf(text);
    notEmpty(body);
    await this.life.patchProfile(actor, topic, { ...body });
    return this.reads.profile(actor, topic);
  }

  @Delete(':topic')
  @HttpCode(204)
  @ApiOperation({ summary: 'Dismiss the group (owner); may be repeated until it is confirmed' })
  @ApiNoContentResponse()
  dismiss(@CurrentActor() actor: Actor, @Param('topic') topic: string): Promise<void> {
    return this.life.dismiss(actor, groupTopicOf(topic));
  }

  @Get(':topic/settings')
  @ApiOperation({ summary: 'Settings of a group you are in' })
  @ApiOkResponse({ type: GroupSettingsView })
  settings(@CurrentActor() actor: Actor, @Param('topic') topic: string): Promise<GroupSettingsView> {
    return this.reads.settings(actor, groupTopicOf(topic));
  }

  @Patch(':topic/settings')
  @ApiOperation({ summary: 'Change the settings (owner and admins)' })
  @ApiOkResponse({ type: GroupSettingsView })
  async patchSettings(
    @CurrentActor() actor: Actor,
    @Param('topic') text: string,
    @Body() body: PatchGroupSettingsDto,
  ): Promise<GroupSettingsView> {
    const topic = groupTopicOf(text);
    notEmpty(body);
    await this.life.patchSettings(actor, topic, { ...body });
    return this.reads.settings(actor, topic);
  }

  @Get(':topic/members')
  @ApiOperation({ summary: 'Members, page by page' })
  @ApiOkResponse({ type: MembersView })
  page(
    @CurrentActor() actor: Actor,
    @Param('topic') topic: string,
    @Query() query: MembersQuery,
  ): Promise<MembersView> {
    return this.list.page(actor, groupTopicOf(topic), query);
  }

  @Post(':topic/members')
  @HttpCode(200)
  @ApiOperation({ summary: 'Add members (owner and admins)' })
  @ApiOkResponse({ type: AddedMembersView })
  add(
    @CurrentActor() actor: Actor,
    @Param('topic') topic: string,
    @Body() body: AddMembersDto,
  ): Promise<AddedMembersView> {
    return this.members.add(actor, groupTopicOf(topic), body.uids.map(asUserId));
  }

  @Delete(':topic/members/:uid')
  @HttpCode(204)
  @ApiOperation({ summary: 'Leave (your own uid) or kick; may be repeated until it is confirmed' })
  @ApiNoContentResponse()
  remove(@CurrentActor() actor: Actor, @Param('topic') topic: string, @Param('uid') uid: string): Promise<void> {
    return this.members.remove(actor, groupTopicOf(topic), uidOf(uid));
  }

  @Patch(':topic/members/:uid')
  @HttpCode(204)
  @ApiOperation({ summary: "Change a member's role, mute or nickname" })
  @ApiNoContentResponse()
  async patchMember(
    @CurrentActor() actor: Actor,
    @Param('topic') topic: string,
    @Param('uid') uid: string,
    @Body() body: PatchMemberDto,
  ): Promise<void> {
    notEmpty(body);
    const { role, nickname, mutedUntil } = body;
    await this.members.patch(actor, groupTopicOf(topic), uidOf(uid), {
      role,
      nickname,
      mutedUntil: typeof mutedUntil === 'string' ? new Date(mutedUntil) : mutedUntil,
    });
  }

  @Post(':topic/transfer')
  @HttpCode(204)
  @ApiOperation({ summary: 'Hand the group over (owner); you stay as an admin' })
  @ApiNoContentResponse()
  transfer(@CurrentActor() actor: Actor, @Param('topic') topic: string, @Body() body: TransferGroupDto): Promise<void> {
    return this.members.transfer(actor, groupTopicOf(topic), asUserId(body.uid));
  }
}
