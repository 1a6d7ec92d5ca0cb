import { Injectable } from '@nestjs/common';
import { AppError } from '../../platform/errors/app-error.js';
import { SignedCursors } from '../../platform/http/signed-cursors.js';
import type { Actor, Topic, UserId } from '../../platform/ids/ids.js';
import { groupIdOf } from '../../platform/ids/topic.js';
import { TenantDataSources } from '../../platform/mysql/tenant-data-sources.js';
import type { TenantDb } from '../../platform/mysql/tenant-db.js';
import { GroupAnnouncer } from './group-announcer.js';
import {
  announcementIn,
  countConfirms,
  deleteAnnouncement,
  insertAnnouncement,
  putConfirm,
  selectAnnouncements,
  selectConfirms,
  selectVersions,
  updateAnnouncement,
  type AnnouncementText,
} from './group-announcements.store.js';
import { GroupChanges } from './group-changes.js';
import { GroupService } from './group.service.js';
import { decide, type GroupAction } from './group.types.js';

export interface Announcement extends AnnouncementText {
  readonly id: string;
  readonly version: number;
  readonly createdBy: UserId;
  readonly updatedBy: UserId;
  readonly createdAt: string;
  readonly updatedAt: string;
  /** Has the one who asks confirmed this version? */
  readonly confirmed: boolean;
}

export interface AnnouncementVersion extends AnnouncementText {
  readonly version: number;
  readonly by: UserId;
  readonly createdAt: string;
}

interface PageRequest {
  readonly cursor?: string;
  readonly limit: number;
}

/** What a group tells its members to know, its history, and who has confirmed it. */
@Injectable()
export class GroupAnnouncementsService {
  constructor(
    private readonly databases: TenantDataSources,
    private readonly groups: GroupService,
    private readonly changes: GroupChanges,
    private readonly announcer: GroupAnnouncer,
    private readonly cursors: SignedCursors,
  ) {}

  async create(actor: Actor, topic: Topic, text: AnnouncementText): Promise<{ id: string; version: number }> {
    const id = await this.changes.run(actor, topic, async ({ tx, group, permit, audit }) => {
      await permit('announce');
      const made = await insertAnnouncement(tx, group.id, actor.uid, text);
      await audit('group.announcement.create', { id: made });
      return made;
    });
    await this.tell(actor, topic, { id, version: 1 });
    return { id, version: 1 };
  }

  /**
   * Makes a new version of one's own, or of any as an admin; who confirmed an older one is asked again.
   * @param wanted `version` is the one that was edited, where the caller wants to be sure of it
   * @throws AppError NOT_FOUND, CONFLICT (another version is there)
   */
  async edit(
    actor: Actor,
    topic: Topic,
    id: string,
    wanted: Partial<AnnouncementText> & { readonly version?: number },
  ): Promise<{ id: string; version: number }> {
    const version = await this.changes.run(actor, topic, async ({ tx, group, permit, audit }) => {
      await permit('announce');
      const present = await announcementIn(tx, group.id, id);
      if (!present) throw new AppError('NOT_FOUND');
      if (present.created_by !== actor.uid) await permit('changeAnnouncement');
      if (wanted.version !== undefined && wanted.version !== present.version) throw new AppError('CONFLICT');
      const text = { title: wanted.title ?? present.title, content: wanted.content ?? present.content };
      await updateAnnouncement(tx, id, present.version + 1, actor.uid, text);
      await audit('group.announcement.edit', { id, version: present.version + 1 });
      return present.version + 1;
    });
    await this.tell(actor, topic, { id, version });
    return { id, version };
  }

  /** One's own, also when one may announce no more, or any as an admin. Its versions are kept. @throws AppError NOT_FOUND */
  async remove(actor: Actor, topic: Topic, id: string): Promise<void> {
    await this.changes.run(actor, topic, async ({ tx, group, permit, audit }) => {
      await permit('read');
      const present = await announcementIn(tx, group.id, id);
      if (present?.created_by !== actor.uid) await permit('changeAnnouncement');
      if (!present) throw new AppError('NOT_FOUND');
      await deleteAnnouncement(tx, group.id, id);
      await audit('group.announcement.delete', { id });
    });
    await this.tell(actor, topic, { id, deleted: true });
  }

  /** Notes that the actor knows the present version. Nobody is told: those who want to know ask for the list. */
  async confirm(actor: Actor, topic: Topic, id: string): Promise<void> {
    await this.databases.run(actor.tenant, (db) =>
      db.transaction(async (tx) => {
        const refusal = decide(await this.groups.accessIn(tx, topic, actor.uid), 'confirm', Date.now());
        if (refusal !== null) throw new AppError(refusal);
        const present = await announcementIn(tx, groupIdOf(topic), id);
        if (!present) throw new AppError('NOT_FOUND');
        await putConfirm(tx, id, actor.uid, present.version);
      }),
    );
  }

  /** Newest first. */
  async list(
    actor: Actor,
    topic: Topic,
    { cursor, limit }: PageRequest,
  ): Promise<{ items: Announcement[]; nextCursor: string | null }> {
    const name = JSON.stringify(['announcements', actor.tenant, topic]);
    const before = cursor === undefined ? null : this.cursors.read(name, cursor);
    const rows = await this.databases.run(actor.tenant, async (db) => {
      await this.groups.permit(db, actor.uid, topic, 'read');
      return selectAnnouncements(db, groupIdOf(topic), actor.uid, { before, limit: limit + 1 });
    });
    const items = rows.slice(0, limit).map((row) => ({
      id: row.id,
      version: row.version,
      title: row.title,
      content: row.content,
      createdBy: row.created_by,
      updatedBy: row.updated_by,
      createdAt: row.created_at.toISOString(),
      updatedAt: row.updated_at.toISOString(),
      confirmed: row.confirmed === row.version,
    }));
    return { items, nextCursor: rows.length > limit ? this.cursors.write(name, rows[limit - 1].id) : null };
  }

  /** Newest first, at most 100. @throws AppError NOT_FOUND */
  async versions(actor: Actor, topic: Topic, id: string): Promise<AnnouncementVersion[]> {
    const rows = await this.readOne(actor, topic, id, 'read', (db) => selectVersions(db, id));
    return rows.map((row) => ({
      version: row.version,
      title: row.title,
      content: row.content,
      by: row.created_by,
      createdAt: row.created_at.toISOString(),
    }));
  }

  /** Members who have confirmed the present version, or have not yet; for those who may announce. @throws AppError NOT_FOUND */
  async confirms(
    actor: Actor,
    topic: Topic,
    id: string,
    { state, cursor, limit }: PageRequest & { readonly state: 'confirmed' | 'waiting' },
  ): Promise<{
    items: { uid: UserId; confirmedAt: string | null }[];
    nextCursor: string | null;
    confirmed: number;
    waiting: number;
  }> {
    const name = JSON.stringify(['confirms', actor.tenant, topic, id, state]);
    const after = cursor === undefined ? '0' : this.cursors.read(name, cursor);
    const { rows, count } = await this.readOne(actor, topic, id, 'keepAnnouncements', async (db) => ({
      rows: await selectConfirms(db, id, state, { after, limit: limit + 1 }),
      count: await countConfirms(db, id),
    }));
    return {
      items: rows
        .slice(0, limit)
        .map((row) => ({ uid: row.uid, confirmedAt: row.confirmed_at?.toISOString() ?? null })),
      nextCursor: rows.length > limit ? this.cursors.write(name, rows[limit - 1].uid) : null,
      confirmed: count.confirmed,
      waiting: count.members - count.confirmed,
    };
  }

  private readOne<T>(
    actor: Actor,
    topic: Topic,
    id: string,
    action: GroupAction,
    read: (db: TenantDb) => Promise<T>,
  ): Promise<T> {
    return this.databases.run(actor.tenant, async (db) => {
      await this.groups.permit(db, actor.uid, topic, action);
      if (!(await announcementIn(db.source.manager, groupIdOf(topic), id))) throw new AppError('NOT_FOUND');
      return read(db);
    });
  }

  private tell(actor: Actor, topic: Topic, announcement: object): Promise<void> {
    return this.announcer.changed(actor, topic, { kind: 'announcement', patch: { announcement } });
  }
}
