import { SealBroken, SecretBox } from '../../../src/platform/secrets/secret-box.js';

const NOW = 'n'.repeat(40);
const OLD = 'o'.repeat(40);
const box = (now: string, ...old: string[]): SecretBox => new SecretBox({ SECRETS_KEY: now, SECRETS_KEYS_OLD: old });

describe('a sealed secret', () => {
  it('opens for its place, and is another text each time', () => {
    const one = box(NOW).seal('geheim ✓', 'third-party/7/sms');
    expect(box(NOW).open(one, 'third-party/7/sms')).toBe('geheim ✓');
    expect(box(NOW).seal('geheim ✓', 'third-party/7/sms')).not.toBe(one);
    expect(one).not.toContain('geheim');
    expect(one.split('.')[1]).toBe(box(NOW).keyId);
  });

  it.each([
    ['moved to another tenant', (sealed: string) => box(NOW).open(sealed, 'third-party/8/sms')],
    ['opened with another key', (sealed: string) => box(OLD).open(sealed, 'third-party/7/sms')],
    [
      'under a key id of ours but another key',
      (sealed: string) => {
        const [version, , data] = sealed.split('.');
        return box(OLD).open([version, box(OLD).keyId, data].join('.'), 'third-party/7/sms');
      },
    ],
    ['cut', (sealed: string) => box(NOW).open(sealed.slice(0, -4), 'third-party/7/sms')],
    ['cut to nothing', (sealed: string) => box(NOW).open(sealed.slice(0, 14), 'third-party/7/sms')],
    [
      'changed',
      (sealed: string) =>
        box(NOW).open(sealed.slice(0, 20) + (sealed[20] === 'A' ? 'B' : 'A') + sealed.slice(21), 'third-party/7/sms'),
    ],
    ['plain text', () => box(NOW).open('geheim', 'third-party/7/sms')],
  ])('does not open when %s, and the error holds nothing of it', (_what, open) => {
    const sealed = box(NOW).seal('geheim', 'third-party/7/sms');
    expect(() => open(sealed)).toThrow(SealBroken);
    expect(() => open(sealed)).not.toThrow(/geheim/);
  });

  it('opens after the key was changed, while the old one is named, and not after', () => {
    const sealed = box(OLD).seal('geheim', 'x');
    expect(box(NOW, OLD).open(sealed, 'x')).toBe('geheim');
    expect(box(NOW, OLD).seal('geheim', 'x').split('.')[1]).toBe(box(NOW).keyId);
    expect(() => box(NOW).open(sealed, 'x')).toThrow('which this node does not have');
  });
});
