import { Body, Controller, Get, HttpCode, Param, Patch, Post } from '@nestjs/common';
import { ApiCreatedResponse, ApiNoContentResponse, ApiOkResponse, ApiOperation } from '@nestjs/swagger';
import { Admin } from '../../platform/http/admin.guard.js';
import { CurrentOperator, type Operator } from '../../platform/http/operator.js';
import { IdPipe } from '../../platform/http/topic.pipe.js';
import { AdminService } from './admin.service.js';
import { ChangeTenantDto, NewTenantDto, TenantsView, TenantView } from './dto/admin.dto.js';

/** Tenants, by the operator. */
@Admin()
@Controller('v1/admin/tenants')
export class TenantsController {
  constructor(private readonly admin: AdminService) {}

  @Get()
  @ApiOperation({ summary: 'All tenants as this node knows them' })
  @ApiOkResponse({ type: TenantsView })
  list(): TenantsView {
    return { items: this.admin.tenants() };
  }

  @Get(':tenant')
  @ApiOperation({ summary: 'One tenant' })
  @ApiOkResponse({ type: TenantView })
  get(@Param('tenant', IdPipe) tenant: string): TenantView {
    return this.admin.tenant(tenant);
  }

  @Post()
  @ApiOperation({ summary: 'Make a tenant, its database and its tables; takes a moment' })
  @ApiCreatedResponse({ type: TenantView })
  create(@Body() body: NewTenantDto, @CurrentOperator() by: Operator): Promise<TenantView> {
    return this.admin.createTenant(body, by);
  }

  @Patch(':tenant')
  @ApiOperation({ summary: "Change a tenant's name or settings" })
  @ApiOkResponse({ type: TenantView })
  change(
    @Param('tenant', IdPipe) tenant: string,
    @Body() body: ChangeTenantDto,
    @CurrentOperator() by: Operator,
  ): Promise<TenantView> {
    return this.admin.changeTenant(tenant, body, by);
  }

  @Post(':tenant/disable')
  @HttpCode(204)
  @ApiOperation({
    summary: 'Switch a tenant off: its sockets are closed and its calls refused on every node; data stays',
  })
  @ApiNoContentResponse()
  async disable(@Param('tenant', IdPipe) tenant: string, @CurrentOperator() by: Operator): Promise<void> {
    await this.admin.changeTenant(tenant, { status: 'disabled' }, by);
  }

  @Post(':tenant/enable')
  @HttpCode(204)
  @ApiOperation({ summary: 'Switch a tenant on again' })
  @ApiNoContentResponse()
  async enable(@Param('tenant', IdPipe) tenant: string, @CurrentOperator() by: Operator): Promise<void> {
    await this.admin.changeTenant(tenant, { status: 'active' }, by);
  }
}
