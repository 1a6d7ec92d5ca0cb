import { ApiProperty } from '@nestjs/swagger';
import { UserView } from '../../user/user.types.js';

class RelationView {
  @ApiProperty({ example: '2' })
  uid: string;

  @ApiProperty({ format: 'date-time' })
  since: string;

  @ApiProperty({ type: UserView, nullable: true })
  user: UserView | null;
}

export class RelationsView {
  @ApiProperty({ type: [RelationView], description: 'in the order of their uids' })
  items: RelationView[];

  @ApiProperty({ type: String, nullable: true, description: 'null on the last page' })
  nextCursor: string | null;
}

class FriendRequestView {
  @ApiProperty({ example: '1' })
  id: string;

  @ApiProperty({ example: '1' })
  from: string;

  @ApiProperty({ example: '2' })
  to: string;

  @ApiProperty()
  message: string;

  @ApiProperty({ enum: ['pending', 'accepted', 'rejected', 'withdrawn'] })
  state: string;

  @ApiProperty({ format: 'date-time' })
  createdAt: string;

  @ApiProperty({ type: UserView, nullable: true, description: 'the other one' })
  user: UserView | null;
}

export class FriendRequestsView {
  @ApiProperty({ type: [FriendRequestView], description: 'pending ones, newest first' })
  items: FriendRequestView[];

  @ApiProperty({ type: String, nullable: true, description: 'null on the last page' })
  nextCursor: string | null;
}

export class AskedFriendView {
  @ApiProperty({ type: String, nullable: true, description: 'of the request; null when you are friends now' })
  id: string | null;

  @ApiProperty({ enum: ['pending', 'accepted'], description: '`accepted`: the other had asked before' })
  state: string;
}

export class RelationContextView {
  @ApiProperty({ example: '2' })
  uid: string;

  @ApiProperty()
  isFriend: boolean;

  @ApiProperty()
  iBlocked: boolean;

  @ApiProperty()
  iFollow: boolean;

  @ApiProperty()
  canStartChat: boolean;

  @ApiProperty()
  canSeePresence: boolean;

  @ApiProperty()
  canSeeLastSeen: boolean;
}
