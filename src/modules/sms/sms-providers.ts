import { Inject, Injectable } from '@nestjs/common';
import { z } from 'zod';
import { ENV, type Env } from '../../platform/env/env.js';
import type { TenantId } from '../../platform/ids/ids.js';
import { Logger } from '../../platform/observe/logger.js';
import { ConfigService } from '../config/config.service.js';
import type { ThirdParty } from '../config/config.types.js';
import { AliyunSms } from './aliyun-sms.js';
import { ConsoleSms } from './console-sms.js';
import { SmsRefused, type SmsProvider } from './sms.types.js';

/** What an operator stores for the kind `sms`: settings and, sealed, the secret. */
const storedSchema = z.object({
  provider: z.literal('aliyun'),
  endpoint: z.url({ protocol: /^https?$/ }).optional(),
  accessKeyId: z.string().min(1),
  accessKeySecret: z.string().min(1),
  signName: z.string().min(1),
  templateCode: z.string().min(1),
});

/** Who carries the messages of a tenant: its own stored settings, else those of the platform, else the environment's. */
@Injectable()
export class SmsProviders {
  private readonly byDefault: SmsProvider | null;
  /** By the stored settings, which every reload that changes them makes anew. */
  private readonly stored = new WeakMap<ThirdParty, SmsProvider | null>();

  constructor(
    private readonly config: ConfigService,
    private readonly log: Logger,
    @Inject(ENV) private readonly env: Env,
  ) {
    this.byDefault = fromEnvironment(env);
    if (!this.byDefault) log.warn({ provider: env.SMS_PROVIDER }, 'no SMS provider in the environment');
  }

  /** @throws SmsRefused (setup) when there is none, or its stored settings are not whole: no other is used instead */
  of(tenant: TenantId): SmsProvider {
    const stored = this.config.getThirdParty(tenant, 'sms');
    const provider = stored ? this.fromStored(stored) : this.byDefault;
    if (!provider) throw new SmsRefused('setup', 'no SMS provider is set up');
    return provider;
  }

  private fromStored(stored: ThirdParty): SmsProvider | null {
    const known = this.stored.get(stored);
    if (known !== undefined) return known;
    const parsed = storedSchema.safeParse({ ...stored.settings, ...stored.secrets });
    const provider = parsed.success
      ? new AliyunSms({
          ...parsed.data,
          endpoint: parsed.data.endpoint ?? this.env.SMS_ALIYUN_ENDPOINT,
          timeoutMs: this.env.SMS_TIMEOUT_MS,
        })
      : null;
    if (!parsed.success) {
      const fields = parsed.error.issues.map((issue) => issue.path.join('.'));
      this.log.error({ tenant: stored.tenant, fields }, 'the stored SMS settings are not usable');
    }
    this.stored.set(stored, provider);
    return provider;
  }
}

function fromEnvironment(env: Env): SmsProvider | null {
  switch (env.SMS_PROVIDER) {
    case 'console':
      // Whoever reads the log of a production system must not log in as its users.
      return env.NODE_ENV === 'production' ? null : new ConsoleSms();
    case 'aliyun':
      return new AliyunSms({
        endpoint: env.SMS_ALIYUN_ENDPOINT,
        accessKeyId: env.SMS_ALIYUN_ACCESS_KEY_ID,
        accessKeySecret: env.SMS_ALIYUN_ACCESS_KEY_SECRET,
        signName: env.SMS_ALIYUN_SIGN_NAME,
        templateCode: env.SMS_ALIYUN_TEMPLATE_CODE,
        timeoutMs: env.SMS_TIMEOUT_MS,
      });
    case 'off':
      return null;
  }
}
