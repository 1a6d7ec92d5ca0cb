import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { AppError } from '../../platform/errors/app-error.js';
import type { Operator } from '../../platform/http/operator.js';
import { canonicalJson } from '../../platform/ids/canonical-json.js';
import { asUserId, type Actor, type Seq, type TenantId, type Topic } from '../../platform/ids/ids.js';
import { AuditService } from '../audit/audit.service.js';
import { messageOf, type MessageRow } from '../group-message/group-message.service.js';
import type { ChangeAnswer, MessageChange } from '../group-message/group-message.types.js';
import { MessageLogService } from '../message-log/message-log.service.js';
import { TenantService } from '../tenant/tenant.service.js';
import { TopicService } from '../topic/topic.service.js';
import { DirectAccess, type DirectPermission } from './direct-access.js';
import { DirectFanout } from './direct-fanout.js';
import { DirectMessageStore, type DirectChange } from './direct-message.store.js';

const MAX_DECISIONS = 5;

type Edit = Extract<MessageChange, { readonly kind: 'edit' }>;

/** Who acts in the name of the operator. */
const SYSTEM = asUserId('0');

/** A decided change of the held row; null when it is done already. */
interface Done {
  readonly row: MessageRow;
  readonly change: number | null;
}
/** Or the permissions have changed since it was allowed. */
type Written = Done | 'stale';

/** Edits and recalls in private chats. No copies of their messages are kept anywhere, so nothing has to be withdrawn. */
@Injectable()
export class DirectChangeService {
  constructor(
    private readonly access: DirectAccess,
    private readonly store: DirectMessageStore,
    private readonly messages: MessageLogService,
    private readonly tenants: TenantService,
    private readonly topics: TopicService,
    private readonly fanout: DirectFanout,
    private readonly audit: AuditService,
  ) {}

  /**
   * Carries out one change; repeating one that is stored already succeeds without a second event.
   * @throws AppError NOT_FOUND, NOT_MEMBER, FORBIDDEN, BLOCKED (edits), CONFLICT, VALIDATION_FAILED
   */
  async apply(actor: Actor, topic: Topic, seq: Seq, change: MessageChange): Promise<ChangeAnswer> {
    for (let decision = 1; decision <= MAX_DECISIONS; decision += 1) {
      const may = await this.access.maySpeak(actor, topic);
      const done = await this.store.transaction(actor.tenant, (tx) => this.write(tx, actor, topic, seq, change, may));
      if (done === 'stale') continue;
      const message = messageOf(topic, done.row);
      if (done.change !== null) this.fanout.changed(actor.tenant, topic, message, done.change);
      return { version: message.version, updatedAt: message.updatedAt };
    }
    throw new AppError('OVERLOADED', { retryAfterMs: 500 });
  }

  /**
   * For everyone and for good, by the operator; repeating it succeeds without a second event.
   * @throws AppError NOT_FOUND
   */
  async block(tenant: TenantId, topic: Topic, seq: Seq, reason: string | null, by: Operator): Promise<ChangeAnswer> {
    const { row, change } = await this.store.transaction(tenant, async (tx): Promise<Done> => {
      const held = await this.store.lock(tx, topic, seq);
      if (!held) throw new AppError('NOT_FOUND');
      if (held.status === 'blocked') return { row: held, change: null };
      const done = await this.change(tx, topic, held, { status: 'blocked', by: SYSTEM });
      const detail = { from: held.from_user, messageId: held.id, ...(reason === null ? {} : { reason }) };
      await this.audit.record(tx, { actor: by, action: 'message.block', target: `${topic}/${seq}`, detail });
      return done;
    });
    const message = messageOf(topic, row);
    if (change !== null) this.fanout.changed(tenant, topic, message, change);
    return { version: message.version, updatedAt: message.updatedAt };
  }

  private async write(
    tx: EntityManager,
    actor: Actor,
    topic: Topic,
    seq: Seq,
    change: MessageChange,
    may: DirectPermission,
  ): Promise<Written> {
    const row = await this.store.lock(tx, topic, seq);
    if (!row) throw new AppError('NOT_FOUND');
    switch (change.kind) {
      case 'edit':
        return this.edit(tx, actor, topic, row, change, may);
      case 'recall':
        return this.recall(tx, actor, topic, row);
      default:
        throw new AppError('FORBIDDEN', {
          message: 'Nobody removes the other side’s messages here. Recall your own, or delete any for yourself.',
        });
    }
  }

  private async edit(
    tx: EntityManager,
    actor: Actor,
    topic: Topic,
    row: MessageRow,
    change: Edit,
    may: DirectPermission,
  ): Promise<Written> {
    if (row.from_user !== actor.uid) throw new AppError('FORBIDDEN', { message: 'Only own messages can be edited.' });
    // An edit says something new. The row first, the topic last: the order of locks everywhere.
    if ((await this.topics.shareDirect(tx, topic)) !== may.aclVersion) return 'stale';
    if (may.refused) throw new AppError(may.refused);
    if (await this.store.blocked(tx, topic)) return 'stale';
    const { editWindowSeconds } = this.tenants.get(actor.tenant).settings;
    if (!isNew(row, change, editWindowSeconds)) return { row, change: null };
    return this.change(tx, topic, row, { contentText: JSON.stringify(change.content), by: actor.uid });
  }

  private async recall(tx: EntityManager, actor: Actor, topic: Topic, row: MessageRow): Promise<Written> {
    if (row.from_user !== actor.uid) throw new AppError('FORBIDDEN', { message: 'Only its sender can recall it.' });
    if (row.status === 'recalled') return { row, change: null };
    if (row.status !== 'normal') throw new AppError('CONFLICT', { message: `The message was ${row.status}.` });
    mustBeWithin(row, this.tenants.get(actor.tenant).settings.recallWindowSeconds, 'recalled');
    return this.change(tx, topic, row, { status: 'recalled', by: actor.uid });
  }

  private async change(tx: EntityManager, topic: Topic, row: MessageRow, change: DirectChange): Promise<Done> {
    const now = new Date();
    const changed = await this.store.change(tx, topic, row, change, now);
    const number = await this.messages.recordChange(tx, topic, Number(row.seqid), changed.version, now);
    return { row: changed, change: number };
  }
}

/**
 * @returns false when the edit is stored already: its acknowledgement was lost
 * @throws AppError CONFLICT, FORBIDDEN (too late), VALIDATION_FAILED
 */
function isNew(row: MessageRow, edit: Edit, windowSeconds: number): boolean {
  if (row.status !== 'normal') throw new AppError('CONFLICT', { message: `The message was ${row.status}.` });
  const sameContent = canonicalJson(JSON.parse(row.content ?? 'null')) === canonicalJson(edit.content);
  // Nobody else can have made this version with this content.
  if (row.version === edit.version + 1 && sameContent) return false;
  if (row.version !== edit.version) {
    throw new AppError('CONFLICT', {
      message: `The message is at version ${row.version}. Read it and edit that one.`,
    });
  }
  mustBeWithin(row, windowSeconds, 'edited');
  const problem = edit.check(row.msg_type);
  if (problem) throw new AppError('VALIDATION_FAILED', { details: [problem] });
  return true;
}

function mustBeWithin(row: MessageRow, windowSeconds: number, done: string): void {
  if (Date.now() - row.created_at.getTime() <= windowSeconds * 1000) return;
  throw new AppError('FORBIDDEN', { message: `A message can be ${done} for ${windowSeconds} seconds only.` });
}
