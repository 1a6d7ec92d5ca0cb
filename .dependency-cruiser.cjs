// Arrows point down only: platform <- modules <- connection <- application. What is not allowed here fails `npm run check`.

/** Which module may ask which: the only place that says it. A new arrow is a decision; never close a circle. */
const ALLOWED_ARROWS = {
  admin: ['audit', 'config', 'presence', 'tenant'],
  audit: [],
  auth: ['audit', 'captcha', 'limits', 'presence', 'tenant', 'user'],
  captcha: ['sms', 'tenant'],
  config: ['audit', 'tenant'],
  conversation: ['direct-message', 'group', 'group-message', 'messaging', 'presence', 'relation', 'user'],
  'direct-message': ['audit', 'group-message', 'message-log', 'relation', 'tenant', 'topic'],
  favorite: ['messaging'],
  group: ['audit', 'presence', 'relation', 'tenant', 'topic', 'user'],
  'group-message': ['audit', 'group', 'message-log', 'tenant', 'topic'],
  idempotency: [],
  limits: ['tenant'],
  'message-log': [],
  messaging: ['direct-message', 'group-message'],
  presence: ['relation', 'user'],
  relation: ['topic', 'user'],
  sms: ['config'],
  tenant: ['audit'],
  topic: [],
  user: [],
};

/** A module is entered through these four of its files, whose names begin with its own. */
const DOORS = 'src/modules/([^/]+)/\\1\\.(module|service|types|errors)\\.ts$';

/** The outermost layer: it puts the product together, and nothing imports it. */
const APPLICATION = '^src/(main|application|app\\.module|schema)\\.ts$|^src/cli/';

/** What only the command line asks of a module: to make tenants and the demo world with no node running. */
const COMMAND_LINE_DOORS = [
  '^src/modules/tenant/tenant(\\.provisioning|-snapshot|\\.redis|\\.entity)\\.ts$',
  '^src/modules/auth/passwords\\.ts$',
  '^src/modules/group/group-life\\.service\\.ts$',
];

const arrows = Object.entries(ALLOWED_ARROWS).map(([name, targets]) => ({
  name: `arrow-from-${name}`,
  comment: 'ALLOWED_ARROWS in this file does not have this arrow between modules.',
  severity: 'error',
  from: { path: `^src/modules/${name}/` },
  to: { path: '^src/modules/', pathNot: [name, ...targets].map((target) => `^src/modules/${target}/`) },
}));

module.exports = {
  forbidden: [
    ...arrows,
    {
      name: 'module-without-arrows',
      comment: 'A new module needs a line in ALLOWED_ARROWS.',
      severity: 'error',
      // Every module has its module file, and that one imports something.
      from: {
        path: '^src/modules/[^/]+/[^/]+\\.module\\.ts$',
        pathNot: Object.keys(ALLOWED_ARROWS).map((name) => `^src/modules/${name}/`),
      },
      to: { path: '@nestjs/common' },
    },
    {
      name: 'doors-between-modules',
      comment: 'Enter another module through <name>.module, .service, .types or .errors.',
      severity: 'error',
      from: { path: '^src/modules/([^/]+)/' },
      to: { path: '^src/modules/', pathNot: ['^src/modules/$1/', DOORS] },
    },
    {
      name: 'doors-from-above',
      comment: 'Enter a module through <name>.module, .service, .types or .errors.',
      severity: 'error',
      from: { path: '^src/(connection/|application\\.ts|app\\.module\\.ts|main\\.ts)' },
      to: { path: '^src/modules/', pathNot: DOORS },
    },
    {
      name: 'doors-from-the-command-line',
      comment: 'Enter a module through its doors, or through those in COMMAND_LINE_DOORS.',
      severity: 'error',
      from: { path: '^src/cli/' },
      to: { path: '^src/modules/', pathNot: [DOORS, ...COMMAND_LINE_DOORS] },
    },
    {
      name: 'schema-knows-entities-only',
      severity: 'error',
      from: { path: '^src/schema\\.ts$' },
      to: { path: '^src/', pathNot: ['\\.entity\\.ts$', '^src/migrations/', '^src/platform/platform\\.module\\.ts$'] },
    },
    {
      name: 'platform-knows-no-im-word',
      severity: 'error',
      from: { path: '^src/platform/' },
      to: { path: '^src/', pathNot: '^src/platform/' },
    },
    {
      name: 'modules-look-down',
      severity: 'error',
      from: { path: '^src/modules/' },
      to: { path: '^src/', pathNot: ['^src/modules/', '^src/platform/'] },
    },
    {
      name: 'connection-looks-down',
      severity: 'error',
      from: { path: '^src/connection/' },
      to: { path: '^src/', pathNot: ['^src/connection/', '^src/modules/', '^src/platform/'] },
    },
    {
      name: 'migrations-stand-alone',
      comment: 'A migration says what it said when it first ran; it must not change with the code.',
      severity: 'error',
      from: { path: '^src/migrations/' },
      to: { path: '^src/' },
    },
    {
      name: 'nothing-imports-the-application',
      severity: 'error',
      from: { path: '^src/', pathNot: APPLICATION },
      to: { path: APPLICATION },
    },
    { name: 'no-circle', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'no-orphan',
      comment: 'Nothing imports this file and it imports nothing.',
      severity: 'error',
      from: { orphan: true },
      to: {},
    },
    {
      name: 'no-dev-dependency-at-run-time',
      severity: 'error',
      from: { path: '^src/' },
      to: { dependencyTypes: ['npm-dev'], dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'no-unnamed-dependency',
      comment: 'It is there by chance, because another package needs it: name it in package.json.',
      severity: 'error',
      from: { path: '^src/' },
      to: { dependencyTypes: ['npm-no-pkg', 'unknown'], dependencyTypesNot: ['type-only'] },
    },
    { name: 'resolvable', severity: 'error', from: { path: '^src/' }, to: { couldNotResolve: true } },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true,
    // What packages offer to whom: without these, packages with an "exports" field seem not to exist.
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['node', 'import', 'require', 'types', 'default'],
    },
  },
};
