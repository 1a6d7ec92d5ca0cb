// Nest 12 and a few of its dependencies are ESM-only; Jest runs them transformed to CommonJS, without any flag (docs/adr/0001).
const esmPackages = [
  '@nestjs/.+',
  'file-type',
  'strtok3',
  'token-types',
  'uint8array-extras',
  '@tokenizer/.+',
  '@borewit/.+',
  'load-esm',
];

const shared = {
  testEnvironment: 'node',
  rootDir: __dirname,
  moduleFileExtensions: ['ts', 'js', 'mjs', 'json', 'node'],
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
  transform: {
    '^.+\\.[cm]?[tj]s$': [
      '@swc/jest',
      {
        jsc: {
          target: 'es2023',
          parser: { syntax: 'typescript', decorators: true },
          transform: { legacyDecorator: true, decoratorMetadata: true },
          keepClassNames: true,
        },
        module: { type: 'commonjs' },
      },
    ],
  },
  transformIgnorePatterns: [`/node_modules/(?!(${esmPackages.join('|')})/)`],
  modulePathIgnorePatterns: ['<rootDir>/dist/', '<rootDir>/sdk/dist/', '<rootDir>/.data/'],
};

const project = (displayName, ...folders) => ({
  ...shared,
  displayName,
  testMatch: folders.map((folder) => `<rootDir>/${folder}/**/*.spec.ts`),
});

/** `unit` needs nothing; the others need MYSQL_URL and REDIS_URL of servers they may fill (scripts/test.js starts them). */
module.exports = {
  testTimeout: 30_000,
  // A worker keeps what its suites left behind; a young one collects its garbage faster.
  workerIdleMemoryLimit: '1GB',
  projects: [
    project('unit', 'test/unit', 'src'),
    project('integration', 'test/integration'),
    project('e2e', 'test/e2e'),
    project('faults', 'test/faults'),
    project('model', 'test/model'),
    project('sdk', 'sdk/test'),
  ],
};
