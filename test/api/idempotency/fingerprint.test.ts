import assert from 'node:assert/strict';
import fc from 'fast-check';
import { fingerprint } from '../../../src/api/idempotency/fingerprint.js';

const of = (body: unknown): string =>
  fingerprint({ method: 'POST', route: '/orders', query: {}, body });

/** The same value with the members of every object the other way round. */
function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toReversed()
      .map(([name, member]) => [name, reversed(member)]),
  );
}

/** What our JSON parser lets through. */
const json = fc
  .jsonValue({ maxDepth: 3, stringUnit: 'binary' })
  .map((value) => JSON.parse(JSON.stringify(value)) as unknown)
  .filter((value) => JSON.stringify(value).isWellFormed());

describe('fingerprint', () => {
  it('stays what it is: saved fingerprints are compared with it', () => {
    assert.equal(
      of({ userId: 'u1', amount: 1000 }),
      'db05a012647e237554382cf9151390b8a96eb2ea75cf553d00aef75894ed26c0',
    );
  });

  it('is equal for equal values, whatever the order of members', () => {
    fc.assert(
      fc.property(json, (value) => {
        assert.equal(of(reversed(value)), of(value));
      }),
    );
  });

  it('is different for different values', () => {
    fc.assert(
      fc.property(json, json, (one, other) => {
        let equal = true;
        try {
          assert.deepStrictEqual(other, one);
        } catch {
          equal = false;
        }
        // JSON has one zero.
        fc.pre(equal || !JSON.stringify([one, other]).includes('-0'));
        assert.equal(of(one) === of(other), equal);
      }),
    );
  });

  it('tells a number from its text, an absent member from null, and one array order from another', () => {
    const hashes = [{ a: 1 }, { a: '1' }, { a: null }, {}, { a: [1, 2] }, { a: [2, 1] }].map(of);

    assert.equal(new Set(hashes).size, hashes.length);
  });

  it('depends on the method, the route and the query', () => {
    const request = { method: 'POST', route: '/orders', query: {}, body: {} };
    const hashes = [
      request,
      { ...request, method: 'PUT' },
      { ...request, route: '/returns' },
      { ...request, query: { dryRun: '1' } },
    ].map(fingerprint);

    assert.equal(new Set(hashes).size, hashes.length);
  });
});
