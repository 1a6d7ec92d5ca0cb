import { Body, Controller, Delete, Get, HttpCode, Param, Post, Put } from '@nestjs/common';
import { ApiNoContentResponse, ApiOkResponse, ApiOperation } from '@nestjs/swagger';
import { Admin } from '../../platform/http/admin.guard.js';
import { CurrentOperator, type Operator } from '../../platform/http/operator.js';
import { redacted } from '../audit/audit.service.js';
import { ConfigChanges, ConfigService } from '../config/config.service.js';
import type { ThirdPartyKind } from '../config/config.types.js';
import {
  ConfigDto,
  ConfigsView,
  DictDto,
  DictsView,
  ResealView,
  ThirdPartiesView,
  ThirdPartyDto,
} from './dto/admin.dto.js';
import { KindPipe, NamePipe, TenantOrPlatformPipe } from './admin-pipes.js';
import { secretsOf } from './secrets-rule.js';

/** Configuration, dictionaries and outside services, by the operator. Changes count on every node within a second. */
@Admin()
@Controller('v1/admin')
export class SettingsController {
  constructor(
    private readonly config: ConfigService,
    private readonly changes: ConfigChanges,
  ) {}

  @Get('config')
  @ApiOperation({ summary: 'Configuration in force on this node' })
  @ApiOkResponse({ type: ConfigsView })
  configs(): ConfigsView {
    return {
      items: this.config.listConfigs().map((item) => ({ ...item, value: redacted(item.value, item.key) })),
    };
  }

  @Put('config/:group/:key')
  @HttpCode(204)
  @ApiOperation({ summary: 'Set one value' })
  @ApiNoContentResponse()
  setConfig(
    @Param('group', NamePipe) group: string,
    @Param('key', NamePipe) key: string,
    @Body() body: ConfigDto,
    @CurrentOperator() by: Operator,
  ): Promise<void> {
    return this.changes.setConfig(group, key, body, by);
  }

  @Delete('config/:group/:key')
  @HttpCode(204)
  @ApiOperation({ summary: 'Remove one value' })
  @ApiNoContentResponse()
  removeConfig(
    @Param('group', NamePipe) group: string,
    @Param('key', NamePipe) key: string,
    @CurrentOperator() by: Operator,
  ): Promise<void> {
    return this.changes.removeConfig(group, key, by);
  }

  @Get('dicts')
  @ApiOperation({ summary: 'Dictionaries in force on this node' })
  @ApiOkResponse({ type: DictsView })
  dicts(): DictsView {
    return { items: [...this.config.listDicts()].map(([type, items]) => ({ type, items: [...items] })) };
  }

  @Put('dicts/:type')
  @HttpCode(204)
  @ApiOperation({ summary: 'Put a dictionary with these entries in the place of the one that is there' })
  @ApiNoContentResponse()
  setDict(
    @Param('type', NamePipe) type: string,
    @Body() body: DictDto,
    @CurrentOperator() by: Operator,
  ): Promise<void> {
    const items = body.items.map((item) => ({ ...item, valueType: item.valueType ?? 'string' }));
    return this.changes.setDict(type, { name: body.name, items }, by);
  }

  @Delete('dicts/:type')
  @HttpCode(204)
  @ApiOperation({ summary: 'Remove a dictionary' })
  @ApiNoContentResponse()
  removeDict(@Param('type', NamePipe) type: string, @CurrentOperator() by: Operator): Promise<void> {
    return this.changes.removeDict(type, by);
  }

  @Get('third-party')
  @ApiOperation({ summary: 'Settings of outside services; secrets by name only' })
  @ApiOkResponse({ type: ThirdPartiesView })
  async thirdParties(): Promise<ThirdPartiesView> {
    return { items: await this.changes.listThirdParties() };
  }

  @Put('third-party/:tenant/:kind')
  @HttpCode(204)
  @ApiOperation({ summary: 'Set an outside service of a tenant, or with 0 of all tenants without one of their own' })
  @ApiNoContentResponse()
  setThirdParty(
    @Param('tenant', TenantOrPlatformPipe) tenant: string,
    @Param('kind', KindPipe) kind: ThirdPartyKind,
    @Body() body: ThirdPartyDto,
    @CurrentOperator() by: Operator,
  ): Promise<void> {
    const { settings, enabled = true } = body;
    return this.changes.setThirdParty(tenant, kind, { settings, enabled, secrets: secretsOf(body.secrets) }, by);
  }

  @Delete('third-party/:tenant/:kind')
  @HttpCode(204)
  @ApiOperation({ summary: 'Remove an outside service' })
  @ApiNoContentResponse()
  removeThirdParty(
    @Param('tenant', TenantOrPlatformPipe) tenant: string,
    @Param('kind', KindPipe) kind: ThirdPartyKind,
    @CurrentOperator() by: Operator,
  ): Promise<void> {
    return this.changes.removeThirdParty(tenant, kind, by);
  }

  @Post('secrets/reseal')
  @HttpCode(200)
  @ApiOperation({ summary: 'Seal by the present SECRETS_KEY what an older one sealed' })
  @ApiOkResponse({ type: ResealView })
  async reseal(@CurrentOperator() by: Operator): Promise<ResealView> {
    return { rows: await this.changes.reseal(by) };
  }
}
