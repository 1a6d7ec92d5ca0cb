import { Column, Entity, PrimaryColumn } from 'typeorm';

/** What MySQL knows of a topic's numbering and permissions. The row is made together with the topic. */
@Entity('im_topic_seq')
export class TopicSeqEntity {
  @PrimaryColumn({ type: 'varchar', length: 64 })
  topic: string;

  /** Numbers that Redis gave out in an older epoch are never stored any more. */
  @Column({ type: 'bigint', default: 0 })
  epoch: string;

  /** Last number of a private chat, which MySQL counts by itself. */
  @Column({ type: 'bigint', default: 0 })
  seq: string;

  /** Raised by every change of who may do what in the topic. */
  @Column({ name: 'acl_version', type: 'bigint', default: 0 })
  aclVersion: string;
}
