import { ApiProperty } from '@nestjs/swagger';

export type { Message } from '../group-message/group-message.types.js';

/** A message in the description of REST. */
export class MessageDto {
  @ApiProperty()
  id: string;
  @ApiProperty()
  topic: string;
  @ApiProperty()
  seq: number;
  @ApiProperty()
  from: string;
  @ApiProperty()
  clientMsgId: string;
  @ApiProperty({ enum: ['text', 'image', 'file', 'audio', 'video', 'system', 'custom'] })
  type: string;
  @ApiProperty({ type: Object, nullable: true })
  content: object | null;
  @ApiProperty({ type: Object, nullable: true })
  head: object | null;
  @ApiProperty({ type: [String] })
  mentionedUserIds: string[];
  @ApiProperty()
  mentionAll: boolean;
  @ApiProperty({ type: Number, nullable: true })
  replySeq: number | null;
  @ApiProperty({ type: Number, nullable: true })
  rootSeq: number | null;
  @ApiProperty({ enum: ['normal', 'recalled', 'deleted', 'blocked'] })
  status: string;
  @ApiProperty()
  version: number;
  @ApiProperty({ format: 'date-time' })
  createdAt: string;
  @ApiProperty({ format: 'date-time' })
  updatedAt: string;
}
