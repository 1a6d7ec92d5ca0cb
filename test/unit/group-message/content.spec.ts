import { findContentProblem, findHeadProblem, MAX_TEXT_CODE_POINTS } from '../../../src/modules/messaging/content.js';
import type { MessageType } from '../../../src/modules/group-message/group-message.types.js';

const MEDIA = { objectKey: 'k', mime: 'image/png', size: 1 };
const entityTo = (url: unknown): object => ({ type: 'link', offset: 0, length: 1, data: { url } });
const nested = (depth: number): object => (depth === 0 ? {} : { a: nested(depth - 1) });

describe('content', () => {
  it.each<[MessageType, object]>([
    ['text', { text: 'hello' }],
    ['text', { text: '🐟'.repeat(MAX_TEXT_CODE_POINTS) }],
    ['text', { text: 'x', entities: [{ type: 'link', offset: 0, length: 1, data: { url: 'x' } }] }],
    ['text', { text: 'x', entities: [{ type: 'b', offset: 0, length: 1, data: ['any', null] }] }],
    [
      'text',
      { text: 'x', entities: [{ type: 'link', offset: 0, length: 1, data: { href: "https://x.example/a?b='c'" } }] },
    ],
    ['image', { ...MEDIA, objectKey: '图片/2026/1.png' }],
    ['image', { ...MEDIA, objectKey: 'https://cdn.example/1.png' }],
    ['image', { ...MEDIA, name: 'a.png', width: 1, height: 2, thumbKey: 't' }],
    ['audio', { ...MEDIA, durationMs: 1_000 }],
    ['file', MEDIA],
    ['video', MEDIA],
    ['system', { kind: 'joined', params: {} }],
    ['custom', { schema: 'x/1', data: [1, 'a', null] }],
    ['custom', { schema: 'x/1', data: null }],
  ])('%s %j is fine', (type, content) => {
    expect(findContentProblem(type, content)).toBeNull();
  });

  it.each<[MessageType, object, string]>([
    ['text', {}, 'content.text'],
    ['text', { text: '' }, 'content.text'],
    ['text', { text: 1 }, 'content.text'],
    ['text', { text: 'x'.repeat(MAX_TEXT_CODE_POINTS + 1) }, 'content.text'],
    ['text', { text: '🐟'.repeat(MAX_TEXT_CODE_POINTS + 1) }, 'content.text'],
    ['text', { text: 'x', html: '<b>' }, 'content.html'],
    ['text', { text: 'x', toString: 'x' }, 'content.toString'],
    ['text', { text: 'x', entities: {} }, 'content.entities'],
    ['text', { text: 'x', entities: [{ type: 'link', offset: -1, length: 1 }] }, 'content.entities'],
    ['text', { text: 'x', entities: [null] }, 'content.entities'],
    ['text', { text: 'x', entities: Array(501).fill({ type: 'a', offset: 0, length: 0 }) }, 'content.entities'],
    ['image', { ...MEDIA, objectKey: undefined }, 'content.objectKey'],
    ['image', { ...MEDIA, objectKey: 'javascript:alert(1)' }, 'content.objectKey'],
    ['image', { ...MEDIA, objectKey: '../secret' }, 'content.objectKey'],
    ['image', { ...MEDIA, thumbKey: 'data:text/html,x' }, 'content.thumbKey'],
    ['text', { text: 'x', entities: [entityTo('javascript:alert(1)')] }, 'content.entities'],
    ['text', { text: 'x', entities: [entityTo(' JavaScript:alert(1)')] }, 'content.entities'],
    ['text', { text: 'x', entities: [entityTo('data:text/html,x')] }, 'content.entities'],
    ['text', { text: 'x', entities: [entityTo(5)] }, 'content.entities'],
    ['image', { ...MEDIA, size: '1' }, 'content.size'],
    ['image', { ...MEDIA, size: 2 ** 53 }, 'content.size'],
    ['image', { ...MEDIA, url: 'http://x' }, 'content.url'],
    ['file', { ...MEDIA, name: 'x'.repeat(256) }, 'content.name'],
    ['system', { kind: 'x', params: [] }, 'content.params'],
    ['custom', { schema: 'x' }, 'content.data'],
    ['custom', { schema: 'x', data: nested(16) }, 'content'],
  ])('%s %j is not, because of %s', (type, content, field) => {
    expect(findContentProblem(type, content)?.field).toBe(field);
  });
});

describe('the head', () => {
  it.each([{}, { quote: 1 }, { quote: 7, forwarded: { from: 'x' }, client: { time: NaN } }])('%j is fine', (head) => {
    expect(findHeadProblem(head)).toBeNull();
  });

  it.each([
    [{ quote: 0 }, 'head.quote'],
    [{ quote: '1' }, 'head.quote'],
    [{ quote: 1.5 }, 'head.quote'],
    [{ isAdmin: true }, 'head.isAdmin'],
    [{ client: nested(16) }, 'head'],
  ])('%j is not', (head, field) => {
    expect(findHeadProblem(head)?.field).toBe(field);
  });
});
