import { Module } from '@nestjs/common';
import { AuditModule } from '../audit/audit.module.js';
import { ConfigChanges, ConfigService } from './config.service.js';

@Module({
  imports: [AuditModule],
  providers: [ConfigService, ConfigChanges],
  exports: [ConfigService, ConfigChanges],
})
export class ConfigModule {}
