import { Module } from '@nestjs/common';
import { MessageLogService } from './message-log.service.js';

@Module({ providers: [MessageLogService], exports: [MessageLogService] })
export class MessageLogModule {}
