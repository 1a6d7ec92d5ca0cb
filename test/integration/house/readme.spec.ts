import { spawnSync } from 'node:child_process';
import { readText, ROOT } from '../../unit/house/sources.js';
import { Stage } from '../../support/stage.js';

describe('the example of the README', () => {
  let stage: Stage;
  beforeAll(async () => void (stage = await Stage.open()));
  afterAll(() => stage.close());

  const exampleOf = (page: string): string => /```js\n([\s\S]*?)```/.exec(readText(page))![1];

  it('is the same in both languages, and short', () => {
    expect(exampleOf('README.zh-CN.md')).toBe(exampleOf('README.md'));
    expect(exampleOf('README.md').trim().split('\n').length).toBeLessThanOrEqual(28);
  });

  it('works as printed', async () => {
    await stage.tenant('demo', ['alice', 'bob']);
    const [first, second] = [await stage.process(), await stage.process()];
    const alice = await stage.login(first, 'demo', 'alice');
    await stage.group(first, alice, [await stage.login(first, 'demo', 'bob')], 'Lobby');

    const code = exampleOf('README.md').replaceAll('3000', String(first.port)).replaceAll('3001', String(second.port));
    const { stdout, stderr } = spawnSync(process.execPath, ['-e', code], {
      cwd: ROOT,
      encoding: 'utf8',
      timeout: 20_000,
    });
    expect(stderr).toBe('');
    expect(stdout).toMatch(/alice sent \{\s*ok: true,\s*seq: 1,/);
    expect(stdout).toContain('bob heard Hello!');
  });
});
