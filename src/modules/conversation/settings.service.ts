import { Injectable } from '@nestjs/common';
import type { Actor, Topic } from '../../platform/ids/ids.js';
import { MessagingService } from '../messaging/messaging.service.js';
import { BootstrapService } from './bootstrap.service.js';
import type { ConversationSettings } from './conversation.types.js';
import { DEFAULT_SETTINGS, SettingsStore } from './settings.store.js';

/** Muting and pinning conversations, for oneself alone. */
@Injectable()
export class SettingsService {
  constructor(
    private readonly store: SettingsStore,
    private readonly messaging: MessagingService,
    private readonly bootstrap: BootstrapService,
  ) {}

  /** @throws AppError NOT_MEMBER, GROUP_DISMISSED, NOT_FOUND */
  async change(actor: Actor, topic: Topic, patch: Partial<ConversationSettings>): Promise<ConversationSettings> {
    const { tenant, uid } = actor;
    await this.messaging.roleOf(actor, topic);
    await this.store.set(tenant, uid, topic, patch);
    await this.bootstrap.forget(actor);
    return (await this.store.of(tenant, uid, [topic])).get(topic) ?? DEFAULT_SETTINGS;
  }
}
