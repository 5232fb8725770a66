import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { readIdempotencyKey } from '../../src/http/idempotency-key.js';
import { parseJson } from '../../src/http/json-body.js';
import { Problem } from '../../src/http/problem.js';
import { BODY_CASES, bytesOf, expand, KEY_CASES, newKey, REQUEST_CASES } from '../corpus/corpus.js';

/** What a function returns, or the slug of the problem that it throws. */
function outcomeOf<T>(read: () => T): { readonly value: T } | { readonly refused: string } {
  try {
    return { value: read() };
  } catch (error) {
    if (error instanceof Problem) return { refused: error.type.slug };
    throw error;
  }
}

const requestWith = (rawHeaders: string[]): IncomingMessage =>
  ({ rawHeaders }) as unknown as IncomingMessage;

describe('the corpus of hostile requests', () => {
  it('names each of its cases once', () => {
    for (const cases of [KEY_CASES, BODY_CASES, REQUEST_CASES]) {
      const names = cases.map(({ what }) => what);
      assert.deepEqual(
        names.filter((name, index) => names.indexOf(name) !== index),
        [],
      );
    }
  });

  for (const { what, values, reads, refused } of KEY_CASES) {
    it(`a key that is ${what} is ${reads === undefined ? 'refused' : 'read'} by its rules`, () => {
      const key = newKey();
      const rawHeaders = values.flatMap((value) => ['Idempotency-Key', expand(value, { key })]);

      const outcome = outcomeOf(() => readIdempotencyKey(requestWith(rawHeaders)));

      assert.deepEqual(
        outcome,
        reads === undefined ? { refused } : { value: expand(reads, { key }) },
      );
    });
  }

  for (const body of BODY_CASES.filter(({ by }) => by !== 'server')) {
    const refused = body.by === 'parser' ? body.refused : undefined;
    it(`a body: ${body.what}, is ${refused ?? 'read'} to the parser`, () => {
      const bytes = bytesOf(body);

      const outcome = outcomeOf(() => parseJson(bytes));

      const value = (): unknown => JSON.parse(bytes.toString('utf8'));
      assert.deepEqual(outcome, refused === undefined ? { value: value() } : { refused });
    });
  }
});
