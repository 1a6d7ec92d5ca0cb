import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { Topic } from '../../platform/ids/ids.js';
import { isTopic } from '../../platform/ids/topic.js';
import type { WriterSession } from '../../platform/mysql/writer-pool.js';
import { TopicSeqEntity } from './topic.entity.js';

export interface TopicFence {
  /** Only numbers that were given out in exactly this epoch may be stored. */
  readonly epoch: number;
  /** A permission that was read under another version has to be read again. */
  readonly aclVersion: number;
}

interface FenceRow {
  readonly topic: string;
  readonly epoch: string;
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
}

/** A missing topic in a condition would match other rows or none; it is a fault of the caller. */
function checked(topic: Topic): Topic {
  if (!isTopic(topic)) throw new Error('not a topic name');
  return topic;
}
