import { PatchMeDto, UsersQuery } from '../../../src/modules/user/dto/users.dto.js';
import { isLine, isReference } from '../../../src/platform/http/rules.js';
import { validateDto } from '../../../src/platform/http/validation.js';

describe('a line of text', () => {
  it.each(['a', 'Ünï', '👩‍👩‍👧', '🎉'.repeat(64), 'two words'])('may be %j', (text) => {
    expect(isLine(text, 1, 64)).toBe(true);
  });

  it.each([
    '',
    ' ',
    '\u3000',
    'a\tb',
    'a\r\n',
    '\u2028',
    '\u0085',
    '\u0000',
    '\udc00',
    '🎉'.repeat(65),
    5,
    null,
    ['a'],
    {},
  ])('may not be %j', (text) => expect(isLine(text, 1, 64)).toBe(false));
});

describe('a reference to a picture', () => {
  it.each([
    'a.png',
    'avatars/2026/1.png',
    '头像/1.png',
    'https://cdn.example/a.png?x=1#y',
    'http://cdn.example:8080/a.png',
    'HTTPS://CDN.example/a.png',
  ])('may be %j', (value) => expect(isReference(value)).toBe(true));

  it.each([
    'javascript:alert(1)',
    'JaVaScRiPt:alert(1)',
    ' javascript:alert(1)',
    'java\tscript:alert(1)',
    '\u0001javascript:alert(1)',
    'data:image/svg+xml,<svg onload=alert(1)>',
    'vbscript:x',
    'file:///etc/passwd',
    'blob:https://x/1',
    'ftp://x/a.png',
    '//evil.example/a.png',
    '/a.png',
    '\\\\evil.example\\a.png',
    'https:evil.example',
    'https://',
    'https://user:pass@evil.example/a.png',
    'https://x.example/"onerror=alert(1)',
    'a/../../b.png',
    'a b.png',
    '<b>',
    '',
    5,
    null,
    ['a.png'],
  ])('may not be %j', (value) => expect(isReference(value)).toBe(false));
});

describe('a profile patch', () => {
  it.each([{}, { nickname: 'N' }, { avatar: '' }, { gender: null, region: null }, { gender: 'other' }])(
    'may be %j',
    async (body) => expect({ ...(await validateDto(PatchMeDto, body)) }).toEqual(body),
  );

  it.each([
    { nickname: null },
    { nickname: 1 },
    { avatar: null },
    { avatar: 'javascript:alert(1)' },
    { avatar: `https://x.example/${'a'.repeat(512)}` },
    { signature: { a: 1 } },
    { gender: 'x' },
    { region: '' },
    { account: 'root' },
    { uid: '1' },
    { status: 'active' },
    { passwordHash: 'x' },
  ])('may not be %j', async (body) => {
    await expect(validateDto(PatchMeDto, body)).rejects.toMatchObject({ code: 'VALIDATION_FAILED' });
  });
});

describe('a list of users', () => {
  it('takes 1 to 200 ids', async () => {
    expect((await validateDto(UsersQuery, { uids: '1,2' })).uids).toEqual(['1', '2']);
    const many = Array.from({ length: 200 }, (_, index) => String(index + 1));
    expect((await validateDto(UsersQuery, { uids: many.join(',') })).uids).toHaveLength(200);
    await expect(validateDto(UsersQuery, { uids: [...many, '201'].join(',') })).rejects.toThrow();
  });

  it.each([
    {},
    { uids: '' },
    { uids: '1,' },
    { uids: '0' },
    { uids: '-1' },
    { uids: '01' },
    { uids: '1 OR 1=1' },
    { uids: {} },
  ])('is not %j', async (query) => {
    await expect(validateDto(UsersQuery, query)).rejects.toMatchObject({ code: 'VALIDATION_FAILED' });
  });
});
