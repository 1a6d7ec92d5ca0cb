'use strict';
const fs = require('node:fs');
const path = require('node:path');
const { describeMysql, findProgram } = require('./programs');
const { run } = require('./run');

/**
 * MySQL 9.7 in a folder of its own, for tests beside MariaDB: Debian's unstable suite carries it, and its own loader runs
 * it on older systems, so nothing is installed.
 */
const keyring = '/usr/share/keyrings/debian-archive-keyring.gpg';
const packages = [
  ...['mysql-server-core', 'libc6', 'libgcc-s1', 'libstdc++6', 'libaio1t64', 'libicu78', 'liblz4-1', 'liblzma5'],
  ...['libnuma1', 'libprotobuf-lite32t64', 'libssl3t64', 'libtcmalloc-minimal4t64', 'libgoogle-perftools4t64'],
  ...['libunwind8', 'libxxhash0', 'libzstd1', 'zlib1g'],
];
const architectures = {
  x64: { libraries: 'x86_64-linux-gnu', loader: 'usr/lib64/ld-linux-x86-64.so.2' },
  arm64: { libraries: 'aarch64-linux-gnu', loader: 'usr/lib/ld-linux-aarch64.so.1' },
};

/**
 * The unpacked server as a program for startMysql.
 * @param {string} dir
 * @returns {import('./programs').Program | undefined} undefined when it is not there or does not run
 */
function unpackedMysql(dir) {
  const architecture = architectures[process.arch];
  const root = path.join(path.resolve(dir), 'root');
  if (!architecture || !fs.existsSync(path.join(root, '.complete'))) return undefined;
  const usr = path.join(root, 'usr');
  const libraries = path.join(usr, 'lib', architecture.libraries);
  const loaderArgs = ['--library-path', libraries, path.join(usr, 'sbin', 'mysqld')];
  const program = describeMysql(path.join(root, architecture.loader), loaderArgs);
  const serverArgs = [
    `--basedir=${usr}`,
    `--lc-messages-dir=${usr}/share/mysql`,
    `--character-sets-dir=${usr}/share/mysql/charsets`,
    `--plugin-dir=${usr}/lib/mysql/plugin`,
  ];
  return program && { ...program, serverArgs };
}

/**
 * Fetches and unpacks it (about 42 MB, 225 MB unpacked) unless it is there.
 * @param {string} dir
 * @param {{ signal?: AbortSignal }} [options]
 * @returns {Promise<{ program?: import('./programs').Program, why: string }>} without a program, `why` says why not
 */
async function getMysql97(dir, options = {}) {
  const there = unpackedMysql(dir);
  if (there) return { program: there, why: '' };
  const why = await fetchPackages(path.resolve(dir), options);
  if (why) return { why };
  const program = unpackedMysql(dir);
  return program ? { program, why: '' } : { why: 'the unpacked server does not run on this machine' };
}

async function fetchPackages(dir, options) {
  if (!architectures[process.arch]) return `there is none for ${process.platform} ${process.arch}`;
  if (!findProgram('apt-get') || !fs.existsSync(keyring)) return 'this is not a Debian system';
  const sites = await run('apt-get', ['indextargets', '--format', '$(SITE)'], options);
  const site = sites.output
    .split('\n')
    .filter((line) => /^https?:/.test(line) && !line.includes('-security'))
    .sort()[0];
  if (!site) return 'apt has no package source';
  const half = path.join(dir, 'half');
  fs.rmSync(half, { recursive: true, force: true });
  try {
    const env = { ...process.env, APT_CONFIG: writeAptConfig(half, site) };
    const debs = path.join(half, 'debs');
    const update = await run('apt-get', ['-qq', 'update'], { ...options, env });
    if (update.code !== 0) return `the package lists cannot be read: ${lastLine(update.output)}`;
    const download = await run('apt-get', ['-qq', 'download', ...packages], { ...options, env, cwd: debs });
    if (download.code !== 0) return `the packages cannot be had: ${lastLine(download.output)}`;
    const unpacked = path.join(half, 'root');
    for (const deb of fs.readdirSync(debs)) {
      const { code, output } = await run('dpkg-deb', ['-x', path.join(debs, deb), unpacked], options);
      if (code !== 0) return `${deb} cannot be unpacked: ${lastLine(output)}`;
    }
    fs.writeFileSync(path.join(unpacked, '.complete'), '');
    fs.rmSync(path.join(dir, 'root'), { recursive: true, force: true });
    fs.renameSync(unpacked, path.join(dir, 'root'));
    return '';
  } finally {
    fs.rmSync(half, { recursive: true, force: true });
  }
}

const lastLine = (text) => text.trim().split('\n').pop();

/** An apt of its own, that knows only Debian unstable and touches nothing of the system's. */
function writeAptConfig(half, site) {
  const at = (...parts) => path.join(half, ...parts);
  const folders = ['state/lists/partial', 'cache/archives/partial', 'etc/empty', 'debs', 'root'];
  for (const folder of folders) fs.mkdirSync(at(folder), { recursive: true });
  fs.writeFileSync(at('state', 'status'), '');
  // A mirror's index can be older than it says it may be; signatures and hashes are checked all the same.
  const source = `deb [check-valid-until=no signed-by=${keyring}] ${site} sid main\n`;
  fs.writeFileSync(at('etc', 'sources.list'), source);
  const settings = {
    'Dir::State': at('state'),
    'Dir::State::status': at('state', 'status'),
    'Dir::Cache': at('cache'),
    'Dir::Log': half,
    'Dir::Etc': at('etc'),
    'Dir::Etc::sourcelist': at('etc', 'sources.list'),
    'Dir::Etc::sourceparts': at('etc', 'empty'),
    'Dir::Etc::parts': at('etc', 'empty'),
    'Dir::Etc::preferencesparts': at('etc', 'empty'),
    'Acquire::Languages': 'none',
    'Acquire::Retries': '3',
    ...(process.getuid?.() === 0 ? { 'APT::Sandbox::User': 'root' } : {}),
  };
  const lines = Object.entries(settings).map(([name, value]) => `${name} "${value}";`);
  fs.writeFileSync(at('apt.conf'), `${lines.join('\n')}\n`);
  return at('apt.conf');
}

module.exports = { getMysql97, unpackedMysql };
