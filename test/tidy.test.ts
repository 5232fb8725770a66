import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ALL_PROBLEMS } from '../src/api/problems.js';
import { DOCUMENTS, namedTests } from './support/named-tests.js';
import packageJson from '../package.json' with { type: 'json' };

/** 250 lines, statements of SQL among them: a longer file has more than one job. */
const MAX_LINES = 250;

/** Read by `@temporalio/envconfig`, not by us. */
const OF_ENVCONFIG = [
  'TEMPORAL_API_KEY',
  'TEMPORAL_CONFIG_FILE',
  'TEMPORAL_PROFILE',
  'TEMPORAL_TLS',
];

/** 120 columns of a comment, which Prettier does not wrap as it wraps code, at 100. */
const MAX_COLUMNS = 120;

/** Folders that would take anything. */
const DRAWERS = /(^|\/)(utils?|helpers?|common|types|lib|misc)\//;

/** Written apart, as this file is searched too. */
const LEFT_UNDONE = new RegExp(`\\b(${['TO' + 'DO', 'FIX' + 'ME', 'X' + 'XX'].join('|')})\\b`);
const BELITTLING = /\b(simply|just|easy|obviously)\b/i;

const root = fileURLToPath(new URL('..', import.meta.url));
const files = listFiles();
const read = (file: string): string => readFileSync(join(root, file), 'utf8');
const readme = read('README.md');

describe('the house is tidy:', () => {
  it('nothing is marked as left undone', () => {
    assert.deepEqual(linesWith(LEFT_UNDONE, within('src/', 'test/', 'bench/', 'hammer/')), []);
  });

  it('no text calls a thing simple', () => {
    const texts = files.filter((file) => /^(README|CHANGELOG|docs\/.*)\.md$/.test(file));
    const comment = new RegExp(`(?:^\\s*(?:/\\*\\*?|\\*|//)|\\s// ).*${BELITTLING.source}`, 'i');

    assert.ok(texts.length >= 3);
    assert.deepEqual(linesWith(BELITTLING, texts), []);
    assert.deepEqual(linesWith(comment, within('src/')), []);
  });

  it(`no source file has more than ${MAX_LINES} lines`, () => {
    const long = within('src/').filter(
      (file) => read(file).trimEnd().split('\n').length > MAX_LINES,
    );

    assert.deepEqual(long, []);
  });

  it(`no comment is wider than ${MAX_COLUMNS} columns`, () => {
    const wide = new RegExp(`^(?=\\s*(?:/\\*\\*?|\\*|//) ).{${MAX_COLUMNS + 1},}$`);

    assert.deepEqual(linesWith(wide, within('src/', 'test/', 'bench/', 'hammer/')), []);
  });

  it('every folder has one job that its name says', () => {
    assert.deepEqual(
      files.filter((file) => DRAWERS.test(file)),
      [],
    );
  });

  it('.env.example has the variables that are read, and no others', () => {
    const known = namesIn(
      read('src/config.ts'),
      /'([A-Z][A-Z0-9_]*_[A-Z0-9_]+|HOST|PORT|FAULTS)'/g,
    );
    const shown = namesIn(read('.env.example'), /^(?:# )?([A-Z][A-Z0-9_]*)=/gm);

    assert.ok(known.length > 20);
    assert.deepEqual(shown, [...known, ...OF_ENVCONFIG].sort());
  });

  it('only the configuration and the launcher read the environment', () => {
    const others = within('src/', 'bench/').filter(
      (file) => file !== 'src/config.ts' && !file.startsWith('src/embedded/'),
    );

    assert.ok(others.length > 50);
    assert.deepEqual(linesWith(/process\.env\b/, others), []);
  });

  it('every problem has a title, a detail and the status of an error', () => {
    const bad = [...ALL_PROBLEMS.values()].filter(
      ({ status, title, detail }) =>
        title.trim() === '' || detail.trim() === '' || status < 400 || status > 599,
    );

    assert.ok(ALL_PROBLEMS.size > 20);
    assert.deepEqual(bad, []);
  });
});

describe('the README agrees with the repository:', () => {
  it('every test that a document names is there', () => {
    const named = DOCUMENTS.flatMap((document) => namedTests(read(document)));
    const missing = named.filter(
      ({ file, title }) => !existsSync(join(root, file)) || !hasTest(read(file), title),
    );

    assert.ok(namedTests(readme).length >= 20);
    assert.deepEqual(missing, []);
  });

  it('every fault of the matrix has a row, with a test or a reason', () => {
    const rows = namesIn(read('docs/faults.md'), /^\| (F[0-9]{2}) \| [^|]+ \| (?:`test|no test)/gm);
    const numbers = [...Array.from({ length: 26 }, (_, index) => index + 1)].concat(
      Array.from({ length: 28 }, (_, index) => index + 30),
    );

    assert.deepEqual(
      rows,
      numbers.map((number) => `F${String(number).padStart(2, '0')}`),
    );
  });

  it('every metric has a row', () => {
    const rows = namesIn(read('docs/observability.md'), /^\| `(order_saga_[a-z_]+)`/gm);
    const metrics = within('src/metrics/').flatMap((file) =>
      namesIn(read(file), /'(order_saga_[a-z_]+)'/g),
    );

    assert.ok(rows.length > 10);
    assert.deepEqual(rows, metrics.sort());
  });

  it('every fault test is named in the documents', () => {
    const named = DOCUMENTS.map(read).join('\n');
    const unnamed = within('test/faults/').filter(
      (file) => file.endsWith('.test.ts') && !named.includes(`\`${file}\``),
    );

    assert.deepEqual(unnamed, []);
  });

  it('every promise test file stands behind a row', () => {
    const unnamed = within('test/promises/').filter((file) => !readme.includes(`\`${file}\``));

    assert.deepEqual(unnamed, []);
  });

  it('every script that it names is there', () => {
    const scripts = namesIn(readme, /npm run ([a-z][a-z:]*)/g);

    assert.ok(scripts.length > 5);
    assert.deepEqual(
      scripts.filter((name) => !(name in packageJson.scripts)),
      [],
    );
  });

  it('every folder of its table is there, and every folder of the sources is in it', () => {
    const rows = readme.split('## Where everything lives')[1]?.split('\n## ')[0] ?? '';
    const named = namesIn(rows, /`((?:src|test|migrations)[a-z/-]*)`/g);
    const sources = readdirSync(join(root, 'src'), { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => `src/${name}`);

    assert.ok(sources.length > 5);
    assert.deepEqual(
      named.filter((path) => !existsSync(join(root, path))),
      [],
    );
    assert.deepEqual(
      sources.filter((path) => !named.includes(path)),
      [],
    );
  });

  it('every file that it links to is there', () => {
    const links = namesIn(readme, /\]\((?!https?:)([^)#]+)\)/g);

    assert.ok(links.length > 3);
    assert.deepEqual(
      links.filter((path) => !existsSync(join(root, path))),
      [],
    );
  });
});

/** The files under version control; all, where there is no git, as in an unpacked archive. */
function listFiles(): readonly string[] {
  try {
    const listed = execFileSync('git', ['ls-files', '-z'], { cwd: root, encoding: 'utf8' });
    // Listed and deleted is possible in a work tree.
    return listed.split('\0').filter((file) => file !== '' && existsSync(join(root, file)));
  } catch {
    return ['src', 'test', 'bench', 'hammer', 'docs', 'migrations']
      .flatMap((folder) =>
        readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
          .filter((entry) => entry.isFile())
          .map((entry) => join(entry.parentPath, entry.name).slice(root.length)),
      )
      .concat('README.md', 'CHANGELOG.md');
  }
}

function within(...folders: string[]): readonly string[] {
  return files.filter(
    (file) => /\.[jt]sx?$/.test(file) && folders.some((folder) => file.startsWith(folder)),
  );
}

function linesWith(pattern: RegExp, among: readonly string[]): readonly string[] {
  return among.flatMap((file) =>
    read(file)
      .split('\n')
      .flatMap((line, index) =>
        pattern.test(line) ? [`${file}:${index + 1}: ${line.trim()}`] : [],
      ),
  );
}

/** What a pattern's first group catches, each once, sorted. */
function namesIn(text: string, pattern: RegExp): string[] {
  return [...new Set([...text.matchAll(pattern)].map(([, name = '']) => name))].sort();
}

/** Whether a file has a test or a suite of this title; `${…}` in a title stands for any words. */
function hasTest(source: string, title: string): boolean {
  return [...source.matchAll(/\b(?:it|describe)\(\s*(['"`])(.*?)\1,/g)].some(
    ([, quote, text = '']) => {
      const parts = quote === '`' ? text.split(/\$\{[^}]*\}/) : [text];
      const escaped = parts.map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
      return new RegExp(`^${escaped.join('.+')}$`).test(title);
    },
  );
}
