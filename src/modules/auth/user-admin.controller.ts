import { Controller, HttpCode, Param, Post } from '@nestjs/common';
import { ApiNoContentResponse, ApiOperation, ApiParam } from '@nestjs/swagger';
import { Admin } from '../../platform/http/admin.guard.js';
import { CurrentOperator, type Operator } from '../../platform/http/operator.js';
import { IdPipe } from '../../platform/http/topic.pipe.js';
import { asTenantId, asUserId } from '../../platform/ids/ids.js';
import { UserStatusService } from './user-status.service.js';

/** What the operator does to users. */
@Admin()
@ApiParam({ name: 'tenant', example: '1' })
@ApiParam({ name: 'uid', example: '7' })
@Controller('v1/admin/tenants/:tenant/users/:uid')
export class UserAdminController {
  constructor(private readonly status: UserStatusService) {}

  @Post('disable')
  @HttpCode(204)
  @ApiOperation({ summary: 'Switch a user off: his sessions end, his sockets are closed on every node; data stays' })
  @ApiNoContentResponse()
  disable(
    @Param('tenant', IdPipe) tenant: string,
    @Param('uid', IdPipe) uid: string,
    @CurrentOperator() by: Operator,
  ): Promise<void> {
    return this.status.disable(asTenantId(tenant), asUserId(uid), by);
  }

  @Post('enable')
  @HttpCode(204)
  @ApiOperation({ summary: 'Switch a user on again; he logs in anew' })
  @ApiNoContentResponse()
  enable(
    @Param('tenant', IdPipe) tenant: string,
    @Param('uid', IdPipe) uid: string,
    @CurrentOperator() by: Operator,
  ): Promise<void> {
    return this.status.enable(asTenantId(tenant), asUserId(uid), by);
  }
}
