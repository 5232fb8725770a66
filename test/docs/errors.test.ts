import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { FAILURES } from '../../src/domain/failures.js';
import { ALL_PROBLEMS } from '../../src/api/problems.js';
import { ERROR_REFERENCE, errorReference } from './error-reference.js';

const document = readFileSync(ERROR_REFERENCE, 'utf8');

describe('the error reference', () => {
  it('is what the problems of the sources make of it: "npm run docs:errors" writes it', async () => {
    assert.equal(document, await errorReference());
  });

  it('has a row for every problem of the API and every failure of a step', () => {
    const names = [...ALL_PROBLEMS.keys(), ...Object.values(FAILURES)];
    const missing = names.filter((name) => !document.includes(`\n| \`${name}\``));

    assert.ok(names.length > 25);
    assert.deepEqual(missing, []);
  });
});
