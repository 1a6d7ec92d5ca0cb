import { Controller, Get, HttpCode, Post, Query } from '@nestjs/common';
import { ApiOkResponse, ApiOperation } from '@nestjs/swagger';
import { Admin } from '../../platform/http/admin.guard.js';
import { AdminService } from './admin.service.js';
import { AuditPageView, AuditQueryDto, NodesView, ReloadView } from './dto/admin.dto.js';

/** What an operator looks at. */
@Admin()
@Controller('v1/admin')
export class OperationsController {
  constructor(private readonly admin: AdminService) {}

  @Post('reload')
  @HttpCode(200)
  @ApiOperation({ summary: 'Have every node read tenants and configuration now' })
  @ApiOkResponse({ type: ReloadView })
  async reload(): Promise<ReloadView> {
    await this.admin.reload();
    return { reloaded: true };
  }

  @Get('audit')
  @ApiOperation({ summary: 'What operators changed, the newest first' })
  @ApiOkResponse({ type: AuditPageView })
  async audit(@Query() query: AuditQueryDto): Promise<AuditPageView> {
    return { items: await this.admin.audit(query.beforeId ?? null, query.limit ?? 50) };
  }

  @Get('nodes')
  @ApiOperation({ summary: 'The nodes that live' })
  @ApiOkResponse({ type: NodesView })
  nodes(): Promise<NodesView> {
    return this.admin.nodes();
  }
}
