import { SignedCursors } from '../../../src/platform/http/signed-cursors.js';
import { MemberCursors, type MemberPosition } from '../../../src/modules/group/member-cursor.js';

const cursors = new MemberCursors(new SignedCursors({ JWT_SECRET: 'a'.repeat(32) }));
const position: MemberPosition = { role: 'admin', joinedAtMs: 1_800_000_000_123, uid: '9007199254740993' };
const refused = expect.objectContaining({ code: 'VALIDATION_FAILED' }) as Error;

describe('a member list cursor', () => {
  it('comes back as it was written', () => {
    expect(cursors.read('list', cursors.write('list', position))).toEqual(position);
  });

  it('is good for its own list and process secret alone', () => {
    const cursor = cursors.write('list', position);
    expect(() => cursors.read('list2', cursor)).toThrow(refused);
    expect(() => new MemberCursors(new SignedCursors({ JWT_SECRET: 'b'.repeat(32) })).read('list', cursor)).toThrow(
      refused,
    );
  });

  it('is refused when any of its characters is another one, and as garbage', () => {
    const cursor = cursors.write('list', position);
    for (let index = 0; index < cursor.length; index += 1) {
      const other = cursor[index] === 'A' ? 'B' : 'A';
      expect(() => cursors.read('list', cursor.slice(0, index) + other + cursor.slice(index + 1))).toThrow(refused);
    }
    for (const bad of ['', 'x', cursor.slice(0, -1), `${cursor}A`, `${cursor}=`, ` ${cursor}`, 'é'.repeat(40)]) {
      expect(() => cursors.read('list', bad)).toThrow(refused);
    }
  });
});
