import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { Topic } from '../../platform/ids/ids.js';
import { isTopic } from '../../platform/ids/topic.js';
import type { TenantDb } from '../../platform/mysql/tenant-db.js';
import type { Querying, WriterSession } from '../../platform/mysql/writer-pool.js';
import { TopicSeqEntity } from './topic.entity.js';

export interface TopicFence {
  /** Only numbers that were given out in exactly this epoch may be stored. */
  readonly epoch: number;
  /** A permission that was read under another version has to be read again. */
  readonly aclVersion: number;
}

/** What MySQL knows of a private chat; a chat without a row has zeros. */
export interface DirectTopic {
  /** Number of its newest message; 0 = nobody has said anything. */
  readonly seq: number;
  readonly aclVersion: number;
}

interface FenceRow {
  readonly topic: string;
  readonly epoch: string;
  readonly acl_version: string;
}

interface DirectRow {
  readonly topic: string;
  readonly seq: string;
  readonly acl_version: string;
}

/**
 * Owner of `im_topic_seq`. Its row locks are the fence of the message pipeline: senders share them until they commit; a
 * new epoch or a change of permissions takes them exclusively. Lock order everywhere: other rows first, this one last.
 */
@Injectable()
export class TopicService {
  /** Makes the row of a new topic, in the transaction that makes the topic. */
  async create(tx: EntityManager, topic: Topic): Promise<void> {
    await tx.insert(TopicSeqEntity, { topic: checked(topic) });
  }

  /**
   * Announces a change of permissions: waits for the senders that are committing under the old ones (at most the lock
   * wait), and every later sender sees the new version. The lock is held until `tx` ends.
   * @returns the new version
   */
  async raiseAcl(tx: EntityManager, topic: Topic): Promise<number> {
    const key = checked(topic);
    await tx.query('UPDATE im_topic_seq SET acl_version = acl_version + 1 WHERE topic = ?', [key]);
    const rows = (await tx.query('SELECT acl_version FROM im_topic_seq WHERE topic = ?', [key])) as FenceRow[];
    if (rows.length === 0) throw new Error(`topic ${key} has no row in im_topic_seq`);
    return Number(rows[0].acl_version);
  }

  /**
   * Opens a transaction by reading the topics' rows with shared locks, always in the same order. A topic without a row is
   * missing in the answer.
   */
  async fence(session: WriterSession, topics: readonly Topic[]): Promise<Map<Topic, TopicFence>> {
    const rows = await session.begin<FenceRow>(
      'SELECT topic, epoch, acl_version FROM im_topic_seq WHERE topic IN (?) ORDER BY topic LOCK IN SHARE MODE',
      [topics.map(checked).sort()],
    );
    return new Map(
      rows.map((row) => [row.topic as Topic, { epoch: Number(row.epoch), aclVersion: Number(row.acl_version) }]),
    );
  }

  /**
   * Opens a transaction by locking the topic's row exclusively, after the senders that hold it have committed, and reads its epoch. The row is made
   * when it is missing: FOR UPDATE on an absent row would lock nothing.
   */
  async lockEpoch(session: WriterSession, topic: Topic): Promise<number> {
    const key = checked(topic);
    await session.begin('INSERT INTO im_topic_seq (topic) VALUES (?) ON DUPLICATE KEY UPDATE epoch = epoch', [key]);
    const rows = await session.rows<FenceRow>('SELECT epoch FROM im_topic_seq WHERE topic = ? FOR UPDATE', [key]);
    return Number(rows[0].epoch);
  }

  /** Holds the topic's permissions still until `tx` ends: a change of them waits, and one that was made is seen. */
  async share(tx: EntityManager, topic: Topic): Promise<void> {
    await tx.query('SELECT acl_version FROM im_topic_seq WHERE topic = ? LOCK IN SHARE MODE', [checked(topic)]);
  }

  /** Stores a new epoch; the caller holds the row by `lockEpoch`. */
  async setEpoch(session: WriterSession, topic: Topic, epoch: number): Promise<void> {
    if (!Number.isSafeInteger(epoch) || epoch < 0) throw new Error(`not an epoch: ${epoch}`);
    await session.write('UPDATE im_topic_seq SET epoch = ? WHERE topic = ?', [epoch, checked(topic)]);
  }

  /** How far private chats are numbered, by topic; those without a row are missing. */
  async readDirect(db: TenantDb, topics: readonly Topic[]): Promise<Map<Topic, DirectTopic>> {
    if (topics.length === 0) return new Map();
    const rows = await db.query<DirectRow>('SELECT topic, seq, acl_version FROM im_topic_seq WHERE topic IN (?)', [
      topics.map(checked),
    ]);
    return new Map(rows.map((row) => [row.topic as Topic, directOf(row)]));
  }

  /**
   * Holds a private chat's row until `tx` ends: whoever holds it gives the next number, so numbers appear in the order of the
   * commits. The row is made when it is missing; both sides may do that at once.
   */
  async lockDirect(tx: Querying, topic: Topic): Promise<DirectTopic> {
    const key = checked(topic);
    const lock = async (): Promise<DirectRow | undefined> => {
      const sql = 'SELECT topic, seq, acl_version FROM im_topic_seq WHERE topic = ? FOR UPDATE';
      return ((await tx.query(sql, [key])) as DirectRow[])[0];
    };
    let row = await lock();
    if (!row) {
      await tx.query('INSERT INTO im_topic_seq (topic) VALUES (?) ON DUPLICATE KEY UPDATE epoch = epoch', [key]);
      row = await lock();
    }
    return directOf(row!);
  }

  /** Stores the newest number; the caller holds the row by `lockDirect`. */
  async setDirectSeq(tx: Querying, topic: Topic, seq: number): Promise<void> {
    if (!Number.isSafeInteger(seq) || seq < 0) throw new Error(`not a seq: ${seq}`);
    await tx.query('UPDATE im_topic_seq SET seq = ? WHERE topic = ?', [seq, checked(topic)]);
  }

  /** Holds a private chat's permissions still until `tx` ends, and reads their version. */
  async shareDirect(tx: Querying, topic: Topic): Promise<number> {
    const sql = 'SELECT topic, seq, acl_version FROM im_topic_seq WHERE topic = ? LOCK IN SHARE MODE';
    const [row] = (await tx.query(sql, [checked(topic)])) as DirectRow[];
    return row ? directOf(row).aclVersion : 0;
  }

  /**
   * Announces that two users' right to write to each other changes, in the transaction that changes it: a send that was
   * allowed before is decided anew. The row is made when it is missing.
   */
  async raiseDirectAcl(tx: Querying, topic: Topic): Promise<void> {
    await tx.query(
      'INSERT INTO im_topic_seq (topic, acl_version) VALUES (?, 1) ON DUPLICATE KEY UPDATE acl_version = acl_version + 1',
      [checked(topic)],
    );
  }
}

/** A missing topic in a condition would match other rows or none; it is a fault of the caller. */
function checked(topic: Topic): Topic {
  if (!isTopic(topic)) throw new Error('not a topic name');
  return topic;
}

const directOf = (row: DirectRow): DirectTopic => ({ seq: Number(row.seq), aclVersion: Number(row.acl_version) });
