import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { AppError } from '../../platform/errors/app-error.js';
import type { Operator } from '../../platform/http/operator.js';
import { canonicalJson } from '../../platform/ids/canonical-json.js';
import { asUserId, type Actor, type Seq, type TenantId, type Topic, type UserId } from '../../platform/ids/ids.js';
import { errnoOf } from '../../platform/mysql/mysql-errors.js';
import { AuditService } from '../audit/audit.service.js';
import { GroupService } from '../group/group.service.js';
import { decide, type GroupAccess } from '../group/group.types.js';
import { TopicService } from '../topic/topic.service.js';
import { TenantService } from '../tenant/tenant.service.js';
import { ChangeStore } from './change.store.js';
import { FanoutService } from './fanout.service.js';
import { GroupMessageStore } from './group-message.store.js';
import type { ChangeAnswer, MessageChange } from './group-message.types.js';
import { HotClosing } from './hot-closing.js';
import { HotRedis } from './hot.redis.js';
import { messageOf, type MessageRow } from './message-row.js';

/** Who acts on the operator's behalf. */
const SYSTEM = asUserId('0');

const NOT_WITHDRAWN = 'The change is stored, but old copies may still be read for a moment; repeat the call.';

/**
 * Is it certain that nothing was committed? A time-out of ours or a lost connection says nothing; then the open change
 * stays, and drops the hot set in time.
 */
const isKnown = (error: unknown): boolean =>
  error instanceof AppError ? error.code !== 'STORAGE_UNAVAILABLE' : errnoOf(error) !== undefined;

/** A decided change of the held row: null when it is done already. */
type Written = { readonly row: MessageRow; readonly change: number | null };
type Decided = Written & {
  /** May everybody in the room read it, whenever he joined? */
  readonly openToAll: boolean;
};

/**
 * Edits, recalls and removals. The hot copy goes before the change and comes back after its commit; while a change is open
 * no hot page is served and none is filled, so that a recalled text is never readable again through any door.
 */
@Injectable()
export class ChangeService {
  constructor(
    private readonly store: ChangeStore,
    private readonly messages: GroupMessageStore,
    private readonly hot: HotRedis,
    private readonly groups: GroupService,
    private readonly tenants: TenantService,
    private readonly audit: AuditService,
    private readonly fanout: FanoutService,
    private readonly closing: HotClosing,
    private readonly topics: TopicService,
  ) {}

  /**
   * Carries out one change; repeating one that is stored already succeeds without a second event.
   * @throws AppError NOT_FOUND, NOT_MEMBER, FORBIDDEN, MUTED, CONFLICT, VALIDATION_FAILED; SHORT_STATE_UNAVAILABLE
   * (retryable) when the copies cannot be withdrawn first
   */
  async apply(actor: Actor, topic: Topic, seq: Seq, change: MessageChange): Promise<ChangeAnswer> {
    // Outsiders learn nothing and cause nothing; the decision that counts comes under the row's lock.
    await this.mustRead(actor, topic);
    return this.carryThrough(actor.tenant, topic, seq, (tx) => this.write(tx, actor, topic, seq, change));
  }

  /**
   * Takes a message from everyone, by the operator's word alone; also in a group that was dismissed. Repeating it succeeds.
   * @param reason for the audit log
   * @throws AppError NOT_FOUND, TENANT_UNKNOWN, TENANT_DISABLED; SHORT_STATE_UNAVAILABLE as `apply`
   */
  async block(tenant: TenantId, topic: Topic, seq: Seq, reason: string | null, by: Operator): Promise<ChangeAnswer> {
    // What was never sent needs no open change.
    if (!(await this.messages.rowAt(tenant, topic, seq))) throw new AppError('NOT_FOUND');
    return this.carryThrough(tenant, topic, seq, async (tx) => {
      const row = await this.store.lock(tx, topic, seq);
      await this.topics.share(tx, topic);
      if (!row) throw new AppError('NOT_FOUND');
      const { historyForNewMembers } = await this.groups.accessIn(tx, topic, asUserId(row.from_user));
      if (row.status === 'blocked') return { row, change: null, openToAll: historyForNewMembers };
      const [changed, number] = await this.store.change(tx, topic, row, { status: 'blocked', by: SYSTEM });
      await this.record(tx, by, topic, row, 'message.block', reason === null ? {} : { reason });
      return { row: changed, change: number, openToAll: historyForNewMembers };
    });
  }

  private async carryThrough(
    tenant: TenantId,
    topic: Topic,
    seq: Seq,
    write: (tx: EntityManager) => Promise<Decided>,
  ): Promise<ChangeAnswer> {
    const token = randomUUID();
    // 1. Withdraw the copy.
    const opened = { tenant, topic, seq, token };
    await this.open(tenant, topic, seq, token);
    // 2. Decide and write, in one transaction.
    let done: Decided;
    try {
      done = await this.store.transaction(tenant, write);
    } catch (error) {
      if (isKnown(error)) await this.closing.close(opened, null);
      else this.closing.follow(opened);
      throw error;
    }
    // 3. Bring the new form, and tell.
    const closed = await this.closing.close(opened, done.row);
    const message = messageOf(topic, done.row);
    if (done.change !== null) this.fanout.changed(tenant, topic, message, done.change, done.openToAll);
    if (!closed) throw new AppError('SHORT_STATE_UNAVAILABLE', { message: NOT_WITHDRAWN, retryAfterMs: 1000 });
    return { version: message.version, updatedAt: message.updatedAt };
  }

  private async write(
    tx: EntityManager,
    actor: Actor,
    topic: Topic,
    seq: Seq,
    change: MessageChange,
  ): Promise<Decided> {
    const row = await this.store.lock(tx, topic, seq);
    // The row first, the topic last: the order of locks everywhere.
    await this.topics.share(tx, topic);
    const access = await this.groups.accessIn(tx, topic, actor.uid);
    const refused = decide(access, 'read', Date.now());
    if (refused) throw new AppError(refused);
    if (!row || (!access.historyForNewMembers && seq <= access.joinedSeq)) throw new AppError('NOT_FOUND');
    return { ...(await this.carryOut(tx, actor, topic, row, access, change)), openToAll: access.historyForNewMembers };
  }

  private carryOut(
    tx: EntityManager,
    actor: Actor,
    topic: Topic,
    row: MessageRow,
    access: GroupAccess,
    change: MessageChange,
  ): Promise<Written> {
    switch (change.kind) {
      case 'edit':
        return this.edit(tx, actor, topic, row, access, change);
      case 'recall':
        return this.recall(tx, actor, topic, row, access);
      case 'remove':
        return this.remove(tx, actor, topic, row, access);
    }
  }

  private async edit(
    tx: EntityManager,
    actor: Actor,
    topic: Topic,
    row: MessageRow,
    access: GroupAccess,
    change: Extract<MessageChange, { kind: 'edit' }>,
  ): Promise<Written> {
    if (row.from_user !== actor.uid) throw new AppError('FORBIDDEN', { message: 'Only own messages can be edited.' });
    const refused = decide(access, 'edit', Date.now());
    if (refused) throw new AppError(refused);
    if (row.status !== 'normal') throw new AppError('CONFLICT', { message: `The message was ${row.status}.` });
    const sameContent = canonicalJson(JSON.parse(row.content ?? 'null')) === canonicalJson(change.content);
    // Its acknowledgement was lost: nobody else can have made this version with this content.
    if (row.version === change.version + 1 && sameContent) return { row, change: null };
    if (row.version !== change.version) {
      throw new AppError('CONFLICT', {
        message: `The message is at version ${row.version}. Read it and edit that one.`,
      });
    }
    this.mustBeWithin(row, this.tenants.get(actor.tenant).settings.editWindowSeconds, 'edited');
    const problem = change.check(row.msg_type);
    if (problem) throw new AppError('VALIDATION_FAILED', { details: [problem] });
    const contentText = JSON.stringify(change.content);
    const [changed, number] = await this.store.change(tx, topic, row, { contentText, by: actor.uid });
    return { row: changed, change: number };
  }

  private async recall(
    tx: EntityManager,
    actor: Actor,
    topic: Topic,
    row: MessageRow,
    access: GroupAccess,
  ): Promise<Written> {
    const own = row.from_user === actor.uid;
    const asAdmin = decide(access, 'recallAny', Date.now()) === null;
    if (!own && !asAdmin)
      throw new AppError('FORBIDDEN', { message: 'Only its sender or an admin can recall a message.' });
    if (row.status === 'recalled') return { row, change: null };
    if (row.status !== 'normal') throw new AppError('CONFLICT', { message: `The message was ${row.status}.` });
    if (!asAdmin) this.mustBeWithin(row, this.tenants.get(actor.tenant).settings.recallWindowSeconds, 'recalled');
    const [changed, number] = await this.store.change(tx, topic, row, { status: 'recalled', by: actor.uid });
    if (!own) await this.record(tx, actor.uid, topic, row, 'message.recall');
    return { row: changed, change: number };
  }

  /** For everyone and for good, by admins. */
  private async remove(
    tx: EntityManager,
    actor: Actor,
    topic: Topic,
    row: MessageRow,
    access: GroupAccess,
  ): Promise<Written> {
    const refused = decide(access, 'removeMessage', Date.now());
    if (refused) throw new AppError(refused);
    if (row.status === 'deleted') return { row, change: null };
    if (row.status === 'blocked') throw new AppError('CONFLICT', { message: 'The message was blocked.' });
    const [changed, number] = await this.store.change(tx, topic, row, { status: 'deleted', by: actor.uid });
    await this.record(tx, actor.uid, topic, row, 'message.remove');
    return { row: changed, change: number };
  }

  private record(
    tx: EntityManager,
    actor: UserId | Operator,
    topic: Topic,
    row: MessageRow,
    action: string,
    more: object = {},
  ): Promise<void> {
    const detail = { from: row.from_user, messageId: row.id, ...more };
    return this.audit.record(tx, { actor, action, target: `${topic}/${row.seqid}`, detail });
  }

  private mustBeWithin(row: MessageRow, windowSeconds: number, done: string): void {
    if (Date.now() - row.created_at.getTime() <= windowSeconds * 1000) return;
    throw new AppError('FORBIDDEN', { message: `A message can be ${done} for ${windowSeconds} seconds only.` });
  }

  private async mustRead(actor: Actor, topic: Topic): Promise<void> {
    const refused = decide(await this.groups.loadAccess(actor.tenant, topic, actor.uid), 'read', Date.now());
    if (refused) throw new AppError(refused);
  }

  private async open(tenant: TenantId, topic: Topic, seq: Seq, token: string): Promise<void> {
    try {
      await this.hot.open(tenant, topic, seq, token);
    } catch (error) {
      throw new AppError('SHORT_STATE_UNAVAILABLE', {
        message: 'Copies of the message cannot be withdrawn right now; repeat the call.',
        retryAfterMs: 1000,
        cause: error,
      });
    }
  }
}
