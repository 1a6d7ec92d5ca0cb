import { Module, type DynamicModule } from '@nestjs/common';
import type { Env } from './platform/env/env.js';
import { PlatformModule } from './platform/platform.module.js';
import { schemas } from './schema.js';

@Module({})
export class AppModule {
  static register(env: Env): DynamicModule {
    return { module: AppModule, imports: [PlatformModule.register(env, schemas)] };
  }
}
