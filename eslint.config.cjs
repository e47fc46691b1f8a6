'use strict';

const globals = require('globals');

const rules = {
  'array-callback-return': 'error',
  'consistent-return': 'error',
  eqeqeq: ['error', 'always', { null: 'ignore' }],
  'getter-return': 'error',
  'no-cond-assign': 'error',
  'no-const-assign': 'error',
  'no-dupe-keys': 'error',
  'no-eval': 'error',
  'no-fallthrough': 'error',
  'no-implicit-globals': 'off',
  'no-redeclare': 'error',
  'no-self-assign': 'error',
  'no-shadow': 'error',
  'no-throw-literal': 'error',
  'no-undef': 'error',
  'no-unreachable': 'error',
  'no-unsafe-finally': 'error',
  'no-unused-expressions': ['error', { allowShortCircuit: true, allowTernary: true }],
  'no-unused-vars': ['error', { argsIgnorePattern: '^_', caughtErrors: 'none' }],
  'no-use-before-define': ['error', { functions: false, classes: false, variables: false }],
  'no-var': 'error',
  'prefer-const': ['error', { destructuring: 'all' }],
  'no-restricted-syntax': [
    'error',
    // Electron 9 runs Node 12: both are syntax errors there.
    { selector: 'ChainExpression', message: 'Node 12 has no optional chaining.' },
    { selector: 'LogicalExpression[operator="??"]', message: 'Node 12 has no nullish coalescing.' },
  ],
};

module.exports = [
  { ignores: ['**/node_modules/**', '.venv/**', 'build/**', 'dist/**', 'results/**'] },
  {
    files: ['**/*.js', '**/*.cjs'],
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    languageOptions: {
      ecmaVersion: 2020,
      sourceType: 'commonjs',
      globals: { ...globals.node, ...globals.browser },
    },
    rules,
  },
  {
    // What drives clients, which need a newer Node themselves.
    files: ['specs/clients/drivers/*.mjs', 'docs/examples/**/*.mjs'],
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    languageOptions: { ecmaVersion: 2022, sourceType: 'module', globals: { ...globals.node } },
    rules,
  },
];
