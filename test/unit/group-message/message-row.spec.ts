import type { MessageDraft } from '../../../src/modules/group-message/group-message.types.js';
import {
  bodyOf,
  freshRow,
  messageOf,
  pendingRow,
  type MessageRow,
} from '../../../src/modules/group-message/message-row.js';
import { digestOf } from '../../../src/platform/ids/canonical-json.js';
import { asSeq, asTopic, asUserId } from '../../../src/platform/ids/ids.js';

const CREATED_AT = new Date('2026-01-02T03:04:05.678Z');
const TOPIC = asTopic('grp_12');
const DRAFT: MessageDraft = {
  topic: TOPIC,
  clientMsgId: 'm',
  type: 'text',
  content: { text: '魚' },
  head: { quote: 3 },
  mentionedUserIds: [asUserId('9007199254740993')],
  mentionAll: true,
  replySeq: asSeq(2),
  rootSeq: null,
};

const pending = pendingRow(bodyOf(DRAFT, CREATED_AT), asUserId('5'), {
  seq: 7,
  epoch: 3,
  aclVersion: 1,
});

/** The row as it comes back from MySQL. */
const STORED: MessageRow = {
  id: '9007199254740993',
  seqid: '7',
  from_user: '5',
  client_msg_id: 'm',
  msg_type: 'text',
  status: 'normal',
  content: pending.body.contentText,
  head: pending.body.headText,
  mentioned_user_ids: pending.body.mentionsText,
  mention_all: 1,
  reply_seqid: '2',
  root_seqid: null,
  version: 1,
  created_at: CREATED_AT,
  updated_at: CREATED_AT,
};

describe('a message', () => {
  it('is told in realtime exactly as it will be read back', () => {
    const fresh = freshRow(pending, STORED.id);
    expect(fresh.text).toBe(JSON.stringify(messageOf(TOPIC, STORED)));
    expect(fresh).toMatchObject({ seq: 7, isVoid: false, member: `1:${fresh.text}` });
  });

  it('has the digest of all that a retry must repeat, in whatever order its keys come', () => {
    const { type, content, head, mentionedUserIds: mentions, mentionAll, replySeq: reply, rootSeq: root } = DRAFT;
    const digest = digestOf({ type, content, head, mentions, mentionAll, reply, root });
    expect(pending.body.digestHex).toBe(digest.toString('hex'));
    const turned = { text: 'x', entities: [{ type: 'bold', offset: 0, length: 1 }] };
    const sorted = { entities: [{ length: 1, offset: 0, type: 'bold' }], text: 'x' };
    const of = (content: object): string => bodyOf({ ...DRAFT, content }, CREATED_AT).digestHex;
    expect(of(turned)).toBe(of(sorted));
    expect(of(turned)).not.toBe(of({ ...sorted, text: 'y' }));
  });

  it('keeps its group, number, epoch and sender', () => {
    expect(pending).toMatchObject({ groupId: '12', seq: 7, epoch: 3, aclVersion: 1, from: '5' });
    expect(pending.body.bytes).toBeGreaterThanOrEqual(Buffer.byteLength(pending.body.contentText));
  });

  it.each(['recalled', 'deleted', 'blocked'] as const)('that is %s shows nothing of what it said', (status) => {
    const message = messageOf(TOPIC, { ...STORED, status });
    expect(message).toMatchObject({
      status,
      content: null,
      head: null,
      mentionedUserIds: [],
      mentionAll: false,
      seq: 7,
    });
    expect(JSON.stringify(message)).not.toContain('魚');
  });
});
