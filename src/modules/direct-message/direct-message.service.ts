import { Injectable } from '@nestjs/common';
import type { TenantId, Topic, UserId } from '../../platform/ids/ids.js';
import { DirectChangeService } from './direct-change.service.js';
import { DirectHistoryService } from './direct-history.service.js';
import { DirectMessageStore } from './direct-message.store.js';
import { DirectSendService } from './direct-send.service.js';

/** The door to private chats and the file assistant. */
@Injectable()
export class DirectMessageService {
  constructor(
    readonly sends: DirectSendService,
    readonly history: DirectHistoryService,
    readonly changes: DirectChangeService,
    private readonly store: DirectMessageStore,
  ) {}

  /** Own deletions; where Redis holds no copies they are a matter of reading. */
  get hides(): DirectHistoryService {
    return this.history;
  }

  /** The user's chats in which something was said, from MySQL. */
  topicsOf(tenant: TenantId, uid: UserId): Promise<Topic[]> {
    return this.store.topicsOf(tenant, uid);
  }
}
