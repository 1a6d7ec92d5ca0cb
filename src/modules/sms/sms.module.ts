import { Module } from '@nestjs/common';
import { ConfigModule } from '../config/config.module.js';
import { SmsProviders } from './sms-providers.js';
import { SmsService } from './sms.service.js';

@Module({ imports: [ConfigModule], providers: [SmsProviders, SmsService], exports: [SmsService] })
export class SmsModule {}
