import { Module } from '@nestjs/common';
import { AdminAudit, AuditService } from './audit.service.js';

@Module({ providers: [AdminAudit, AuditService], exports: [AdminAudit, AuditService] })
export class AuditModule {}
