import { Module } from '@nestjs/common';
import { SmsModule } from '../sms/sms.module.js';
import { ActionTokenRedis } from './action-token.redis.js';
import { ActionTokenStore } from './action-token.store.js';
import { CaptchaSecrets } from './captcha-secrets.js';
import { CaptchaSender } from './captcha-sender.js';
import { CaptchaTries } from './captcha-tries.js';
import { CaptchaRedis } from './captcha.redis.js';
import { CaptchaService } from './captcha.service.js';
import { CaptchaStore } from './captcha.store.js';

@Module({
  imports: [SmsModule],
  providers: [
    ActionTokenRedis,
    ActionTokenStore,
    CaptchaRedis,
    CaptchaSecrets,
    CaptchaSender,
    CaptchaService,
    CaptchaStore,
    CaptchaTries,
  ],
  exports: [CaptchaService],
})
export class CaptchaModule {}
