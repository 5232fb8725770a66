import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { parseJson } from '../../../src/http/json-body.js';
import vectors from '../../corpus/fingerprints.json' with { type: 'json' };
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

/** Writes a value as some client may: members in any order, white space anywhere, any character escaped. */
function spelling(value: unknown, next: () => number): string {
  const blank = (): string => ['', '', ' ', '\n', '\t\r'][next() % 5] ?? '';
  const escaped = (unit: string): string =>
    `\\u${unit.charCodeAt(0).toString(16)[next() % 2 ? 'toUpperCase' : 'toLowerCase']().padStart(4, '0')}`;
  const text = (of: string): string =>
    `"${of
      .split('')
      .map((unit) => (next() % 3 === 0 || /[^ !#-[\]-~]/.test(unit) ? escaped(unit) : unit))
      .join('')}"`;
  const write = (part: unknown): string => {
    if (typeof part === 'string') return text(part);
    if (typeof part !== 'object' || part === null) return JSON.stringify(part);
    if (Array.isArray(part)) return `[${part.map((one) => blank() + write(one) + blank()).join()}]`;
    const members = Object.entries(part).map(
      ([name, member]) => `${blank()}${text(name)}${blank()}:${blank()}${write(member)}${blank()}`,
    );
    return `{${(next() % 2 ? members : members.toReversed()).join()}}`;
  };
  return blank() + write(value) + blank();
}

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

  it('is equal for every spelling of a value that the parser takes', () => {
    const member = fc
      .string({ unit: 'binary', maxLength: 4 })
      .filter(
        (name) => name.isWellFormed() && !/^(__proto__|constructor|prototype)$|\0/.test(name),
      );
    const text = fc
      .string({ unit: 'binary' })
      .filter((value) => value.isWellFormed() && !value.includes('\0'));
    const { value } = fc.letrec<{ value: unknown }>((tie) => ({
      value: fc.oneof(
        { depthSize: 'small', maxDepth: 5, withCrossShrink: true },
        fc.maxSafeInteger(),
        text,
        fc.boolean(),
        fc.constant(null),
        fc.array(tie('value'), { maxLength: 3 }),
        fc.dictionary(member, tie('value'), { maxKeys: 4 }),
      ),
    }));
    const choices = fc.infiniteStream(fc.nat({ max: 29 }));

    fc.assert(
      fc.property(value, choices, (wanted, stream) => {
        const sent = spelling(wanted, () => Number(stream.next().value));
        assert.equal(of(parseJson(Buffer.from(sent))), of(wanted), sent);
      }),
    );
  });

  for (const { what, json: sent, form } of vectors.canonical) {
    it(`is made of the canonical form: ${what}`, () => {
      const text = `{"body":${form},"method":"POST","query":{},"route":"/orders"}`;

      assert.equal(of(JSON.parse(sent)), createHash('sha256').update(text).digest('hex'));
    });
  }

  for (const { what, json: sent, sha256 } of vectors.requests) {
    it(`stays what it is, in every locale and version: ${what}`, () => {
      assert.equal(of(parseJson(Buffer.from(sent))), sha256);
    });
  }

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
