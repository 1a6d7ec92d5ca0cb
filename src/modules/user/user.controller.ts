import { Body, Controller, Get, Param, Patch, Query } from '@nestjs/common';
import { ApiBearerAuth, ApiOkResponse, ApiOperation, ApiParam, ApiTags } from '@nestjs/swagger';
import { invalid } from '../../platform/errors/app-error.js';
import { CurrentActor } from '../../platform/http/actor.js';
import { asUserId, isDecimalId, type Actor } from '../../platform/ids/ids.js';
import { OwnUserView, PatchMeDto, UsersQuery, UsersView } from './dto/users.dto.js';
import { UserView } from './user.types.js';
import { UserService } from './user.service.js';

@ApiTags('users')
@ApiBearerAuth()
@Controller('v1/im/users')
export class UserController {
  constructor(private readonly users: UserService) {}

  @Get('me')
  @ApiOperation({ summary: 'The own profile' })
  @ApiOkResponse({ type: OwnUserView })
  me(@CurrentActor() actor: Actor): Promise<OwnUserView> {
    return this.users.ownProfile(actor.tenant, actor.uid);
  }

  @Patch('me')
  @ApiOperation({ summary: 'Change the own profile; what is not given stays' })
  @ApiOkResponse({ type: OwnUserView })
  patchMe(@CurrentActor() actor: Actor, @Body() body: PatchMeDto): Promise<OwnUserView> {
    return this.users.patchProfile(actor.tenant, actor.uid, body);
  }

  @Get()
  @ApiOperation({ summary: 'Several profiles at once' })
  @ApiOkResponse({ type: UsersView })
  async many(@CurrentActor() actor: Actor, @Query() query: UsersQuery): Promise<UsersView> {
    const uids = [...new Set(query.uids.map(asUserId))];
    const profiles = await this.users.publicProfiles(actor.tenant, uids);
    return { items: uids.map((uid) => profiles.get(uid)).filter((profile) => profile !== undefined) };
  }

  @Get(':uid')
  @ApiOperation({ summary: 'One profile' })
  @ApiParam({ name: 'uid', type: String })
  @ApiOkResponse({ type: UserView })
  one(@CurrentActor() actor: Actor, @Param('uid') uid: string): Promise<UserView> {
    if (!isDecimalId(uid)) throw invalid('uid', 'must be a decimal id');
    return this.users.publicProfile(actor.tenant, asUserId(uid));
  }
}
