import { Module } from '@nestjs/common';
import { AuditModule } from '../audit/audit.module.js';
import { ConfigModule } from '../config/config.module.js';
import { PresenceModule } from '../presence/presence.module.js';
import { AdminService } from './admin.service.js';
import { OperationsController } from './operations.controller.js';
import { SettingsController } from './settings.controller.js';
import { TenantsController } from './tenants.controller.js';

@Module({
  imports: [AuditModule, ConfigModule, PresenceModule],
  controllers: [TenantsController, SettingsController, OperationsController],
  providers: [AdminService],
})
export class AdminModule {}
