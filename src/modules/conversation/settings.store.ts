import { Injectable } from '@nestjs/common';
import type { TenantId, Topic, UserId } from '../../platform/ids/ids.js';
import { TenantDataSources } from '../../platform/mysql/tenant-data-sources.js';
import type { ConversationSettings } from './conversation.types.js';

interface SettingsRow {
  readonly topic: Topic;
  readonly muted: number;
  readonly pinned: number;
}

export const DEFAULT_SETTINGS: ConversationSettings = { muted: false, pinned: false };

/** `im_topic_settings`. */
@Injectable()
export class SettingsStore {
  constructor(private readonly tenants: TenantDataSources) {}

  /** Topics with nothing set are missing. */
  async of(tenant: TenantId, uid: UserId, topics: readonly Topic[]): Promise<Map<Topic, ConversationSettings>> {
    if (topics.length === 0) return new Map();
    const rows = await this.tenants.run(tenant, (db) =>
      db.query<SettingsRow>('SELECT topic, muted, pinned FROM im_topic_settings WHERE uid = ? AND topic IN (?)', [
        BigInt(uid),
        topics,
      ]),
    );
    return new Map(rows.map((row) => [row.topic, { muted: row.muted === 1, pinned: row.pinned === 1 }]));
  }

  /** Sets what is given; the rest stays as it is. */
  async set(tenant: TenantId, uid: UserId, topic: Topic, patch: Partial<ConversationSettings>): Promise<void> {
    const { muted = null, pinned = null } = patch;
    await this.tenants.run(tenant, (db) =>
      db.query(
        `INSERT INTO im_topic_settings (uid, topic, muted, pinned, updated_at) VALUES (?, ?, COALESCE(?, 0), COALESCE(?, 0), ?)
         ON DUPLICATE KEY UPDATE muted = COALESCE(?, muted), pinned = COALESCE(?, pinned), updated_at = VALUES(updated_at)`,
        [BigInt(uid), topic, muted, pinned, new Date(), muted, pinned],
      ),
    );
  }
}
