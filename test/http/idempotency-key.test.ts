import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import fc from 'fast-check';
import { readIdempotencyKey } from '../../src/http/idempotency-key.js';
import { Problem } from '../../src/http/problem.js';

const read = (...rawHeaders: string[]): string =>
  readIdempotencyKey({ rawHeaders } as unknown as IncomingMessage);

const slugOf = (...rawHeaders: string[]): string => {
  try {
    return `accepted: ${read(...rawHeaders)}`;
  } catch (error) {
    if (error instanceof Problem) return error.type.slug;
    throw error;
  }
};

describe('Idempotency-Key', () => {
  it('is the same key with quotes and without', () => {
    assert.equal(read('Idempotency-Key', '"k"'), 'k');
    assert.equal(read('idempotency-KEY', 'k'), 'k');
  });

  it('is missing where another header has its value', () => {
    assert.equal(slugOf('X-Key', 'Idempotency-Key'), 'idempotency-key-missing');
    assert.equal(slugOf(), 'idempotency-key-missing');
  });

  it('may be any visible ASCII but a double quote, up to 255 characters, quoted or not', () => {
    const visible = fc
      .array(fc.integer({ min: 0x21, max: 0x7e }), { minLength: 1, maxLength: 255 })
      .map((codes) => String.fromCharCode(...codes.filter((code) => code !== 0x22)))
      .filter((key) => key !== '');

    fc.assert(
      fc.property(visible, (key) => {
        assert.equal(read('Idempotency-Key', key), key);
        assert.equal(read('Idempotency-Key', `"${key}"`), key);
      }),
    );
  });

  it('has its blanks and tabs round it taken off', () => {
    assert.equal(read('Idempotency-Key', ' \tk\t '), 'k');
  });

  for (const [what, value] of Object.entries({
    'an empty one': '',
    blanks: '   ',
    'empty quotes': '""',
    'a lone quote': '"',
    'a quote at the start': '"k',
    'a quote at the end': 'k"',
    'an inner quote': 'a"b',
    'an inner quote in quotes': '"a"b"',
    'an inner blank': 'a b',
    'a blank inside of quotes': '" k"',
    'an inner tab': 'a\tb',
    DEL: 'a\x7f',
    'a byte above ASCII': 'k\xe9',
    'a no-break space before it': '\xa0k',
    'a no-break space after it': 'k\xa0',
    '256 characters': 'x'.repeat(256),
    '256 characters in quotes': `"${'x'.repeat(256)}"`,
  })) {
    it(`is invalid with ${what}`, () => {
      assert.equal(slugOf('Idempotency-Key', value), 'idempotency-key-invalid');
    });
  }

  it('is invalid when it is sent twice, alike or not', () => {
    for (const second of ['k', 'l', '']) {
      assert.equal(
        slugOf('Idempotency-Key', 'k', 'Accept', '*/*', 'idempotency-key', second),
        'idempotency-key-invalid',
      );
    }
  });
});
