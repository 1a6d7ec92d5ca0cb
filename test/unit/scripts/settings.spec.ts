import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

type Environment = Record<string, string>;
interface Settings {
  loadEnvironment(root: string, environment: Environment): Environment;
  keepSecrets(dataFolder: string, environment: Environment): Environment;
  withControlDatabase(url: string): string;
  describeUrl(url: string): { host: string; port: number; user: string; password: string };
  nodePorts(environment: Environment): number[];
}
const settings = jest.requireActual<Settings>('../../../scripts/lib/settings');

let folder: string;
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'trident-settings-'))));
afterEach(() => rmSync(folder, { recursive: true }));

describe('the environment of the launcher', () => {
  it('comes from .env, and what is set outside wins unless it is empty', () => {
    writeFileSync(join(folder, '.env'), '# ports\nPORT=4000\nNODE_COUNT="3"\nREDIS_URL=redis://file\n');
    const environment = settings.loadEnvironment(folder, { PORT: '5000', REDIS_URL: '' });
    expect(environment).toEqual({ PORT: '5000', NODE_COUNT: '3', REDIS_URL: 'redis://file' });
  });

  it('needs no .env', () => {
    expect(settings.loadEnvironment(folder, { PORT: '1' })).toEqual({ PORT: '1' });
  });
});

describe('secrets', () => {
  it('are made once, readable by the owner only, and stay the same', () => {
    const first = settings.keepSecrets(folder, {});
    expect(Object.keys(first).sort()).toEqual(['ADMIN_TOKEN', 'JWT_SECRET', 'PHONE_HASH_KEY', 'SECRETS_KEY']);
    for (const secret of Object.values(first)) expect(secret).toMatch(/^[0-9a-f]{64}$/);
    expect(new Set(Object.values(first)).size).toBe(4);
    expect(statSync(join(folder, 'secrets.json')).mode & 0o777).toBe(0o600);
    expect(settings.keepSecrets(folder, {})).toEqual(first);
  });

  it('that are given are used and not written down', () => {
    const secrets = settings.keepSecrets(folder, { JWT_SECRET: 'given-from-outside' });
    expect(secrets.JWT_SECRET).toBe('given-from-outside');
    expect(readFileSync(join(folder, 'secrets.json'), 'utf8')).not.toContain('given-from-outside');
  });
});

describe('server URLs', () => {
  it.each([
    ['mysql://u:p@h:3307', 'mysql://u:p@h:3307/im_control'],
    ['mysql://u:p@h:3307/', 'mysql://u:p@h:3307/im_control'],
    ['mysql://u:p@h/other', 'mysql://u:p@h/other'],
  ])('%s means the control database %s', (given, expected) => {
    expect(settings.withControlDatabase(given)).toBe(expected);
  });

  it.each(['nonsense', 'http://h/', 'mysql://'])('%s is no MySQL URL', (url) => {
    expect(() => settings.withControlDatabase(url)).toThrow('MYSQL_URL must look like mysql://');
  });

  it.each([
    ['redis://127.0.0.1', { host: '127.0.0.1', port: 6379, user: '', password: '' }],
    ['redis://:p%40ss@h:6380/1', { host: 'h', port: 6380, user: '', password: 'p@ss' }],
    ['redis-cluster://a:7000,b:7001', { host: 'a', port: 7000 }],
    ['mysql://root:pw@db/im_control', { host: 'db', port: 3306, user: 'root', password: 'pw' }],
  ])('%s is described by its first host', (url, expected) => {
    expect(settings.describeUrl(url)).toMatchObject({ ...expected, pid: null, url });
  });
});

describe('ports', () => {
  it('are two from 3000 on by default', () => {
    expect(settings.nodePorts({})).toEqual([3000, 3001]);
    expect(settings.nodePorts({ PORT: '4000', NODE_COUNT: '3' })).toEqual([4000, 4001, 4002]);
  });

  it.each<Environment>([{ PORT: 'x' }, { PORT: '0' }, { PORT: '65535' }, { NODE_COUNT: '0' }, { NODE_COUNT: '1.5' }])(
    '%p is refused',
    (environment) => {
      expect(() => settings.nodePorts(environment)).toThrow('must be a whole number from');
    },
  );
});
