import { CreateDateColumn, Entity, PrimaryColumn } from 'typeorm';

/** One direction of a friendship; the other direction is a row of its own. */
@Entity({ name: 'im_friends' })
export class FriendEntity {
  @PrimaryColumn({ type: 'bigint' })
  uid: string;

  @PrimaryColumn({ name: 'friend_uid', type: 'bigint' })
  friendUid: string;

  @CreateDateColumn({ name: 'created_at', type: 'datetime', precision: 3, default: () => 'CURRENT_TIMESTAMP(3)' })
  createdAt: Date;
}
