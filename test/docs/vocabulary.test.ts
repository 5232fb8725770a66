import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { ALL_PROBLEMS } from '../../src/api/problems.js';
import { COMPENSATION_STATES, ORDER_STATUSES, STEP_STATES } from '../../src/domain/order.js';

/** Words for things that have another name here: docs/glossary.md has it. */
const SYNONYMS =
  /\b(idempotent key|dedup\w* key|roll(?:ed|ing)?[ -]?back|revert(?:ed|s)?|reversal|saga state|distributed transaction|dead letter|sweeper|orchestrator|garbage[- ]collect\w*|idempotency token|purchase order|cached (?:response|answer))\b/i;

/** The glossary names them to refuse them; these compare other systems in their own words. */
const EXEMPT = new Set(['docs/glossary.md', 'docs/comparison.md']);

const root = fileURLToPath(new URL('../..', import.meta.url));
const read = (file: string): string => readFileSync(join(root, file), 'utf8');
const glossary = read('docs/glossary.md');

describe('one vocabulary:', () => {
  it('no document uses a synonym of a word of the glossary', () => {
    const documents = ['README.md', ...markdownIn('docs')].filter((file) => !EXEMPT.has(file));

    assert.ok(documents.length > 5);
    assert.deepEqual(
      documents.flatMap((file) => found(file, read(file).split('\n'))),
      [],
    );
  });

  it('no text of the sources does: problems, pages, logs, schemas, comments left out', () => {
    const sources = sourcesIn('src');
    const texts = sources.map((file) => [file, textsOf(file)] as const);

    assert.ok(sources.length > 100);
    assert.ok(texts.flatMap(([, lines]) => lines).length > 500);
    assert.deepEqual(
      texts.flatMap(([file, lines]) => found(file, lines)),
      [],
    );
  });

  it('a synonym in a text is found', () => {
    assert.equal(SYNONYMS.test('The order was rolled back.'), true);
    assert.equal(SYNONYMS.test('The order was undone.'), false);
  });

  it('the glossary has every state that an order, a step and an undo can be in', () => {
    const states = [...ORDER_STATUSES, ...STEP_STATES, ...COMPENSATION_STATES];

    assert.deepEqual(
      states.filter((state) => !glossary.includes(`\`${state}\``)),
      [],
    );
  });

  it('every problem that the README names is one of the sources', () => {
    const named = [...read('README.md').matchAll(/`(?:4\d\d|5\d\d) ([a-z-]+)`/g)].map(
      ([, slug = '']) => slug,
    );

    assert.ok(named.length > 5);
    assert.deepEqual(
      named.filter((slug) => !ALL_PROBLEMS.has(slug)),
      [],
    );
  });
});

function found(file: string, lines: readonly string[]): readonly string[] {
  return lines.filter((line) => SYNONYMS.test(line)).map((line) => `${file}: ${line.trim()}`);
}

function markdownIn(folder: string): readonly string[] {
  return readdirSync(join(root, folder))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `${folder}/${name}`);
}

function sourcesIn(folder: string): readonly string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.tsx?$/.test(name))
    .map((name) => join(folder, name));
}

/** Every string, template and text of a page in a source file. */
function textsOf(file: string): readonly string[] {
  const source = ts.createSourceFile(file, read(file), ts.ScriptTarget.Latest, false);
  const texts: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isStringLiteralLike(node) || ts.isTemplateLiteralToken(node) || ts.isJsxText(node)) {
      texts.push(node.text);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  // The statement of SQL has no other name.
  return texts.filter((text) => text !== 'rollback');
}
