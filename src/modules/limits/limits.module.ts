import { Module } from '@nestjs/common';
import { APP_INTERCEPTOR } from '@nestjs/core';
import { LimitsInterceptor } from './limits.interceptor.js';
import { LimitsService } from './limits.service.js';

@Module({
  providers: [LimitsService, { provide: APP_INTERCEPTOR, useClass: LimitsInterceptor }],
  exports: [LimitsService],
})
export class LimitsModule {}
