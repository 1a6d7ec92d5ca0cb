import type { Message, MessageType } from '../../../src/modules/group-message/group-message.types.js';
import { MAX_QUOTE_BYTES, QUOTE_LENGTH, quotedSeq, quoteOf } from '../../../src/modules/group-message/quote.js';
import { asSeq, asTopic, asUserId } from '../../../src/platform/ids/ids.js';

const message = (type: MessageType, content: object | null, more: Partial<Message> = {}): Message => ({
  ...{ id: '9', topic: asTopic('grp_1'), seq: asSeq(9), from: asUserId('5'), clientMsgId: 'm', type, content },
  ...{ head: null, mentionedUserIds: [], mentionAll: false, replySeq: null, rootSeq: null, status: 'normal' as const },
  ...{ version: 3, createdAt: '2026-01-02T03:04:05.678Z', updatedAt: '2026-01-02T03:04:05.678Z' },
  ...more,
});

describe('a quote', () => {
  it('shows the beginning of a text, and never half a character', () => {
    expect(quoteOf(message('text', { text: 'short' }))).toEqual({
      ...{ seq: 9, from: '5', type: 'text', status: 'normal', version: 3, text: 'short' },
    });
    for (const character of ['x', '魚', '🐟', '\u0000']) {
      const quote = quoteOf(message('text', { text: character.repeat(8_000) }));
      expect(quote.text).toBe(character.repeat(QUOTE_LENGTH));
      expect(Buffer.byteLength(JSON.stringify(quote))).toBeLessThanOrEqual(MAX_QUOTE_BYTES);
    }
    expect(quoteOf(message('text', { text: `x${'🐟'.repeat(300)}` })).text).toBe(`x${'🐟'.repeat(QUOTE_LENGTH - 1)}`);
  });

  it.each(['image', 'file', 'audio', 'video'] as const)('shows the name of a %s', (type) => {
    expect(quoteOf(message(type, { objectKey: 'secret/key', name: 'a.pdf' })).text).toBe('a.pdf');
    expect(quoteOf(message(type, { objectKey: 'secret/key' })).text).toBeNull();
  });

  it.each(['custom', 'system'] as const)('shows nothing of a %s message', (type) => {
    expect(quoteOf(message(type, { text: 'x', name: 'x' })).text).toBeNull();
  });

  it.each(['recalled', 'deleted', 'blocked'] as const)('shows nothing of what was %s', (status) => {
    expect(quoteOf(message('text', { text: 'gone' }, { status }))).toMatchObject({ status, text: null });
  });
});

describe('what a message quotes', () => {
  it.each([
    [{ quote: 8 }, 8],
    [{ quote: 9 }, null],
    [{ quote: 10 }, null],
    [{ quote: 0 }, null],
    [{ quote: -1 }, null],
    [{ quote: 1.5 }, null],
    [{ quote: '8' }, null],
    [{ quote: null }, null],
    [{}, null],
    [null, null],
  ])('by the head %j is %j', (head, seq) => {
    expect(quotedSeq(message('text', { text: 'x' }, { head }))).toBe(seq);
  });
});
