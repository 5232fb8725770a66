import js from '@eslint/js';
import tseslint from 'typescript-eslint';

/** Bans value imports of the given folders, with the rule of the house as the message; types may cross. */
const mayNotImport = (files, folders, why) => ({
  files,
  rules: {
    '@typescript-eslint/no-restricted-imports': [
      'error',
      {
        patterns: folders.map((folder) => ({
          regex: `(^|/)${folder}/`,
          message: why,
          allowTypeImports: true,
        })),
      },
    ],
  },
});

export default tseslint.config(
  { ignores: ['dist', '**/node_modules', '.data', '.cache', '.hammer', 'coverage'] },
  js.configs.recommended,
  ...tseslint.configs.strictTypeChecked,
  {
    languageOptions: {
      parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname },
    },
    rules: {
      // A forgotten await loses an undo.
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      eqeqeq: 'error',
      'no-console': 'error',
    },
  },
  { files: ['**/*.js'], ...tseslint.configs.disableTypeChecked },
  {
    // Plain JavaScript: the packages of the bench's peers are not installed where this is checked.
    files: ['deploy/**', 'bin/**', 'bench/peers/**'],
    languageOptions: {
      globals: {
        process: 'readonly',
        fetch: 'readonly',
        AbortSignal: 'readonly',
        URL: 'readonly',
      },
    },
  },
  {
    files: ['src/embedded/**', 'bench/**', 'src/postgres/run-migrations.ts'],
    rules: { 'no-console': 'off' },
  },
  mayNotImport(
    ['src/domain/**'],
    ['api', 'workflows', 'activities', 'store', 'services', 'embedded', 'postgres', 'http'],
    'domain/ is pure and imports nothing of ours.',
  ),
  mayNotImport(
    ['src/desk/**', 'src/api-client/**'],
    ['api', 'workflows', 'activities', 'store', 'services', 'embedded', 'postgres', 'http'],
    'The order desk runs in a browser: it knows the API over HTTP, and of our code what is pure.',
  ),
  mayNotImport(
    ['src/services/**'],
    ['api', 'workflows', 'activities', 'store', 'domain', 'embedded'],
    'services/ stands for other teams: only HTTP crosses that line.',
  ),
  mayNotImport(
    ['src/activities/**', 'src/store/**'],
    ['api', 'workflows', 'embedded', 'services'],
    'Calls go api → workflows → activities → downstream; nothing calls back up.',
  ),
  mayNotImport(
    ['src/api/**'],
    ['services', 'embedded'],
    'The API reaches the downstream services through the workflow only.',
  ),
  {
    files: ['src/workflows/**'],
    rules: {
      '@typescript-eslint/no-restricted-imports': [
        'error',
        {
          patterns: [
            { regex: '^node:', message: 'Workflow code runs in a sandbox without Node built-ins.' },
            {
              regex: '/(activities|api|store|services|embedded|postgres|http)/|/config\\.js$',
              message: 'Workflow code may import types of these, never values.',
              allowTypeImports: true,
            },
          ],
        },
      ],
    },
  },
  {
    // Types neither: a type that is wrong in both would hide what it is to find.
    files: ['hammer/**'],
    rules: {
      '@typescript-eslint/no-restricted-imports': [
        'error',
        {
          patterns: [
            {
              regex: '^\\.\\./(?!docs/)|/(src|test|bench|dist)/',
              message: 'The hammer judges the product from outside and shares no code with it.',
            },
          ],
        },
      ],
    },
  },
  {
    // it() callbacks of mocha and fixtures may be async without being awaited by us.
    files: ['test/**'],
    rules: {
      '@typescript-eslint/no-non-null-assertion': 'off',
      // Activities are functions in an object literal, not methods.
      '@typescript-eslint/unbound-method': 'off',
    },
  },
);
