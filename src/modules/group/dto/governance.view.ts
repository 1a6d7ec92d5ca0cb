import { ApiProperty } from '@nestjs/swagger';
import { UserView } from '../../user/user.types.js';

class BanView {
  @ApiProperty({ example: '2' })
  uid: string;

  @ApiProperty({ type: String, format: 'date-time', nullable: true, description: 'null = for good' })
  until: string | null;

  @ApiProperty()
  reason: string;

  @ApiProperty({ example: '1' })
  by: string;

  @ApiProperty({ format: 'date-time' })
  createdAt: string;
}

export class BansView {
  @ApiProperty({ type: [BanView] })
  items: BanView[];

  @ApiProperty({ type: String, nullable: true, description: 'null on the last page' })
  nextCursor: string | null;
}

export class JoinAnswerView {
  @ApiProperty({ example: 'grp_1' })
  topic: string;

  @ApiProperty({ enum: ['joined', 'pending'], description: '`pending`: somebody has to approve it' })
  state: string;
}

class JoinRequestView {
  @ApiProperty({ example: '1' })
  id: string;

  @ApiProperty({ example: '2' })
  uid: string;

  @ApiProperty()
  message: string;

  @ApiProperty({ format: 'date-time' })
  createdAt: string;

  @ApiProperty({ type: UserView, nullable: true })
  user: UserView | null;
}

export class JoinRequestsView {
  @ApiProperty({ type: [JoinRequestView], description: 'pending ones, oldest first' })
  items: JoinRequestView[];

  @ApiProperty({ type: String, nullable: true, description: 'null on the last page' })
  nextCursor: string | null;
}

export class InviteView {
  @ApiProperty()
  code: string;

  @ApiProperty({ type: Number, nullable: true, description: 'null = any number' })
  maxUses: number | null;

  @ApiProperty({ format: 'date-time' })
  expiresAt: string;
}

export class AnnouncedView {
  @ApiProperty({ example: '1' })
  id: string;

  @ApiProperty()
  version: number;
}

class AnnouncementView extends AnnouncedView {
  @ApiProperty({ description: 'empty when there is none' })
  title: string;

  @ApiProperty()
  content: string;

  @ApiProperty({ example: '1' })
  createdBy: string;

  @ApiProperty({ example: '1' })
  updatedBy: string;

  @ApiProperty({ format: 'date-time' })
  createdAt: string;

  @ApiProperty({ format: 'date-time' })
  updatedAt: string;

  @ApiProperty({ description: 'have you confirmed this version?' })
  confirmed: boolean;
}

export class AnnouncementsView {
  @ApiProperty({ type: [AnnouncementView], description: 'newest first' })
  items: AnnouncementView[];

  @ApiProperty({ type: String, nullable: true, description: 'null on the last page' })
  nextCursor: string | null;
}

class AnnouncementVersionView {
  @ApiProperty()
  version: number;

  @ApiProperty()
  title: string;

  @ApiProperty()
  content: string;

  @ApiProperty({ example: '1' })
  by: string;

  @ApiProperty({ format: 'date-time' })
  createdAt: string;
}

export class AnnouncementVersionsView {
  @ApiProperty({ type: [AnnouncementVersionView], description: 'newest first, at most 100' })
  items: AnnouncementVersionView[];
}

class ConfirmView {
  @ApiProperty({ example: '2' })
  uid: string;

  @ApiProperty({ type: String, format: 'date-time', nullable: true })
  confirmedAt: string | null;
}

export class ConfirmsView {
  @ApiProperty({ type: [ConfirmView], description: 'in the order of their uids' })
  items: ConfirmView[];

  @ApiProperty({ type: String, nullable: true, description: 'null on the last page' })
  nextCursor: string | null;

  @ApiProperty({ description: 'members who have confirmed the present version' })
  confirmed: number;

  @ApiProperty({ description: 'members who have not' })
  waiting: number;
}
