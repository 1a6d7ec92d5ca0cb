// Only rules that find faults or keep a rule of the house; the look of the code is prettier's.
const js = require('@eslint/js');
const tseslint = require('typescript-eslint');

const MAX_FILE_LINES = 350;
const MAX_FUNCTION_LINES = 80;

const sizes = {
  'max-lines': ['error', { max: MAX_FILE_LINES }],
  'max-lines-per-function': ['error', { max: MAX_FUNCTION_LINES, skipBlankLines: true, skipComments: true }],
};

/** What goes wrong at run time, not what could be written otherwise. */
const faults = {
  '@typescript-eslint/no-floating-promises': 'error',
  '@typescript-eslint/no-misused-promises': 'error',
  '@typescript-eslint/await-thenable': 'error',
  '@typescript-eslint/return-await': ['error', 'in-try-catch'],
  '@typescript-eslint/only-throw-error': 'error',
  '@typescript-eslint/prefer-promise-reject-errors': 'error',
  '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
  '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
  '@typescript-eslint/no-explicit-any': 'error',
  '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
  // In files with decorators the rule keeps quiet by itself: their types are needed at run time.
  '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }],
  // A method that answers a promise may well have nothing to wait for.
  '@typescript-eslint/require-await': 'off',
  // Matters of taste.
  '@typescript-eslint/no-redundant-type-constituents': 'off',
  '@typescript-eslint/no-base-to-string': 'off',
  '@typescript-eslint/no-unnecessary-type-assertion': 'off',
  // What is `any` is caught where it is used (no-unsafe-call, no-unsafe-member-access); these two cost ten seconds.
  '@typescript-eslint/no-unsafe-assignment': 'off',
  '@typescript-eslint/no-unsafe-return': 'off',
  // Callbacks that need no `this` are handed over all the time: DTO metadata, decorators, adapters.
  '@typescript-eslint/unbound-method': 'off',
  // A variable that a closure needs before its value can be made is no constant.
  'prefer-const': ['error', { ignoreReadBeforeAssign: true }],
  eqeqeq: 'error',
  'no-console': 'error',
  'no-eval': 'error',
  'no-template-curly-in-string': 'error',
};

const banned = {
  env: {
    selector: 'MemberExpression[object.name="process"][property.name="env"]',
    message: 'Only platform/env reads the environment; take the setting from ENV.',
  },
  forwardRef: {
    selector: 'Identifier[name="forwardRef"]',
    message: 'No cycles between modules: move what both need down.',
  },
  requestScope: {
    selector: 'MemberExpression[object.name="Scope"][property.name="REQUEST"]',
    message: 'No request scope: tenancy travels as the first argument (actor or tenant).',
  },
};

const ioredis = { name: 'ioredis', message: 'Only *.redis.ts and platform/redis speak to Redis.' };
const socketIo = {
  group: ['socket.io', 'socket.io-*', '@socket.io/*'],
  message: 'Only *.gateway.ts, connection and platform/socket speak to Socket.IO.',
};

module.exports = tseslint.config(
  { ignores: ['**/node_modules/', '**/dist/', '.data/', 'web/dist/', 'coverage/'] },
  {
    files: ['src/**/*.ts', 'test/**/*.ts', 'sdk/**/*.ts', 'bench/**/*.ts', 'ormconfig.ts'],
    extends: [js.configs.recommended, ...tseslint.configs.recommendedTypeChecked],
    languageOptions: {
      parserOptions: { project: ['tsconfig.json', 'sdk/tsconfig.test.json'], tsconfigRootDir: __dirname },
    },
    rules: { ...faults, ...sizes },
  },
  {
    files: ['src/**/*.ts'],
    rules: {
      'no-restricted-syntax': ['error', banned.env, banned.forwardRef, banned.requestScope],
      'no-restricted-imports': ['error', { paths: [ioredis], patterns: [socketIo] }],
    },
  },
  {
    files: ['src/platform/env/**/*.ts'],
    rules: { 'no-restricted-syntax': ['error', banned.forwardRef, banned.requestScope] },
  },
  {
    files: ['src/**/*.redis.ts', 'src/platform/redis/**/*.ts'],
    rules: { 'no-restricted-imports': ['error', { patterns: [socketIo] }] },
  },
  {
    files: ['src/**/*.gateway.ts', 'src/connection/**/*.ts', 'src/platform/socket/**/*.ts'],
    rules: { 'no-restricted-imports': ['error', { paths: [ioredis] }] },
  },
  {
    // A test says what it does in one go, and knows more of the types than the wire tells.
    files: ['test/**/*.ts', 'sdk/test/**/*.ts'],
    rules: {
      'max-lines-per-function': 'off',
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/no-unsafe-call': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
    },
  },
  {
    files: ['**/*.js', '**/*.cjs'],
    extends: [js.configs.recommended],
    languageOptions: {
      sourceType: 'commonjs',
      globals: { ...nodeGlobals() },
    },
    rules: { ...sizes, eqeqeq: 'error', 'no-unused-vars': ['error', { argsIgnorePattern: '^_' }] },
  },
  {
    // A part of the client is one closure, and a page has no other log than its console.
    files: ['sdk/src/**/*.ts'],
    rules: { 'max-lines-per-function': 'off', 'no-console': 'off' },
  },
  { files: ['sdk/**/*.js'], languageOptions: { sourceType: 'module' } },
);

/** Names that Node.js gives every script; the list that the package `globals` has, without the package. */
function nodeGlobals() {
  const commonJs = ['require', 'module', 'exports', '__dirname', '__filename'];
  const names = Object.getOwnPropertyNames(globalThis).filter((name) => !(name in Object.prototype));
  return Object.fromEntries([...commonJs, ...names].map((name) => [name, 'readonly']));
}
