import { Injectable } from '@nestjs/common';
import { AppError } from '../../platform/errors/app-error.js';
import type { ErrorCode } from '../../platform/errors/error-table.js';
import type { Actor, Topic, UserId } from '../../platform/ids/ids.js';
import { parseTopic } from '../../platform/ids/topic.js';
import { TenantDataSources } from '../../platform/mysql/tenant-data-sources.js';
import { RelationService } from '../relation/relation.service.js';
import { TopicService, type DirectTopic } from '../topic/topic.service.js';

/** May he write, and under which version of the permissions was that decided? */
export interface DirectPermission {
  readonly refused: ErrorCode | null;
  readonly aclVersion: number;
}

const UNSPOKEN: DirectTopic = { seq: 0, aclVersion: 0 };

/** The sides of a private chat: one for the file assistant. Both hear all of it, for ever. */
export function sidesOf(topic: Topic): readonly UserId[] {
  const parts = parseTopic(topic);
  if (parts?.kind === 'p2p') return [parts.low, parts.high];
  if (parts?.kind === 'self') return [parts.uid];
  throw new Error(`not a private chat: ${topic}`);
}

/** Who may do what in a private chat. */
@Injectable()
export class DirectAccess {
  constructor(
    private readonly databases: TenantDataSources,
    private readonly topics: TopicService,
    private readonly relations: RelationService,
  ) {}

  /** @returns the other side; null in the file assistant. @throws AppError NOT_MEMBER: the chat is not his */
  mustBeSide(actor: Actor, topic: Topic): UserId | null {
    const sides = sidesOf(topic);
    if (!sides.includes(actor.uid)) throw new AppError('NOT_MEMBER');
    return sides.find((uid) => uid !== actor.uid) ?? null;
  }

  /**
   * What is known of the chat. One in which nothing was said is there as soon as the other side is.
   * @throws AppError NOT_MEMBER, NOT_FOUND (no such user)
   */
  async read(actor: Actor, topic: Topic): Promise<DirectTopic> {
    const peer = this.mustBeSide(actor, topic);
    const row = await this.row(actor, topic);
    if (row.seq > 0 || peer === null) return row;
    if ((await this.relations.mayStartChat(actor.tenant, actor.uid, peer)) === 'NOT_FOUND') throw noSuchUser();
    return row;
  }

  /**
   * The version is read before the decision: a change that comes later makes the decision void.
   * @throws AppError NOT_MEMBER, NOT_FOUND (no such user)
   */
  async maySpeak(actor: Actor, topic: Topic): Promise<DirectPermission> {
    const peer = this.mustBeSide(actor, topic);
    const { seq, aclVersion } = await this.row(actor, topic);
    if (peer === null) return { refused: null, aclVersion };
    const refused = await this.refusal(actor, peer, seq > 0);
    if (refused === 'NOT_FOUND') throw noSuchUser();
    return { refused, aclVersion };
  }

  private async refusal({ tenant, uid }: Actor, peer: UserId, begun: boolean): Promise<ErrorCode | null> {
    if (!begun) return this.relations.mayStartChat(tenant, uid, peer);
    return (await this.relations.blockedEitherWay(tenant, uid, peer)) ? 'BLOCKED' : null;
  }

  private async row(actor: Actor, topic: Topic): Promise<DirectTopic> {
    const rows = await this.databases.run(actor.tenant, (db) => this.topics.readDirect(db, [topic]));
    return rows.get(topic) ?? UNSPOKEN;
  }
}

const noSuchUser = (): AppError => new AppError('NOT_FOUND', { message: 'There is no such user.' });
