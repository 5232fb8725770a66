import assert from 'node:assert/strict';
import fc from 'fast-check';
import { parseJson } from '../../src/http/json-body.js';
import { Problem } from '../../src/http/problem.js';

const parse = (text: string): unknown => parseJson(Buffer.from(text));

function refuses(bytes: Uint8Array | string, slug: string): void {
  assert.throws(
    () => parseJson(Buffer.from(bytes as Uint8Array)),
    (error) => error instanceof Problem && error.type.slug === slug,
  );
}

describe('JSON bodies', () => {
  it('are read as JSON.parse reads them where nothing is ambiguous', () => {
    const member = fc
      .string({ unit: 'grapheme' })
      .filter((name) => !/^(__proto__|constructor|prototype)$/.test(name) && !name.includes('\0'));
    const text = fc.string({ unit: 'grapheme' }).filter((value) => !value.includes('\0'));
    const { value } = fc.letrec<{ value: unknown }>((tie) => ({
      value: fc.oneof(
        { depthSize: 'small', maxDepth: 8, withCrossShrink: true },
        fc.maxSafeInteger(),
        text,
        fc.boolean(),
        fc.constant(null),
        fc.array(tie('value'), { maxLength: 4 }),
        fc.dictionary(member, tie('value'), { maxKeys: 4 }),
      ),
    }));

    fc.assert(
      fc.property(value, fc.constantFrom(0, 1, '\t'), (wanted, space) => {
        const sent = JSON.stringify(wanted, null, space);
        assert.deepEqual(parse(sent), JSON.parse(sent));
      }),
    );
  });

  for (const [what, body] of Object.entries({
    'an empty one': '',
    'white space alone': ' \n',
    'a cut one': '{"a":1',
    'two values': '{}{}',
    'a trailing comma': '{"a":1,}',
    'a comment': '{/* */"a":1}',
    'single quotes': "{'a':1}",
    NaN: '{"a":NaN}',
    'a byte order mark': '\ufeff{"a":1}',
    'a no-break space between members': '{"a":1,\u00a0"b":2}',
    'a control character in a string': '{"a":"\u0001"}',
    'a member twice': '{"a":1,"a":1}',
    'a member twice, once escaped': '{"a":1,"\\u0061":2}',
    'a member twice, deep inside': '[{"b":[{"a":1,"a":2}]}]',
    'a __proto__': '{"__proto__":{"amount":1}}',
    '__proto__, escaped': '{"\\u005f_proto__":{}}',
    constructor: '{"constructor":{"prototype":{}}}',
    '21 levels': `${'['.repeat(21)}${']'.repeat(21)}`,
    '30,000 levels': '['.repeat(30_000),
  })) {
    it(`are malformed with ${what}`, () => {
      refuses(body, 'malformed-json');
    });
  }

  for (const [what, bytes] of Object.entries({
    'a lone continuation byte': [0x22, 0x80, 0x22],
    'a cut sequence': [0x22, 0xe2, 0x82, 0x22],
    'an overlong slash': [0x22, 0xc0, 0xaf, 0x22],
    'a surrogate in UTF-8': [0x22, 0xed, 0xa0, 0x80, 0x22],
    Latin1: [0x22, 0xe9, 0x22],
    'UTF-16': [0xff, 0xfe, 0x31, 0x00],
  })) {
    it(`are malformed with ${what}`, () => {
      refuses(Uint8Array.from(bytes), 'malformed-json');
    });
  }

  for (const [what, body] of Object.entries({
    'a fraction': '{"amount":1.5}',
    'a fraction of nothing': '{"amount":1000.0}',
    'an exponent': '{"amount":1e3}',
    '2^53': '{"amount":9007199254740992}',
    '2^53 + 1': '{"amount":9007199254740993}',
    'a huge number': `{"amount":${'9'.repeat(400)}}`,
    'U+0000 in a string': '{"a":"\\u0000"}',
    'U+0000 in a name': '{"\\u0000":1}',
    'half a surrogate pair': '{"a":"\\ud800"}',
    'the other half': '{"a":"x\\udc00"}',
  })) {
    it(`are not valid with ${what}`, () => {
      refuses(body, 'validation-failed');
    });
  }

  it('may have 20 levels, the largest safe integer and a whole surrogate pair', () => {
    const deepest = `${'['.repeat(20)}${']'.repeat(20)}`;

    assert.deepEqual(parse(deepest), JSON.parse(deepest));
    assert.equal(parse('-9007199254740991'), -9_007_199_254_740_991);
    assert.equal(parse('"\\ud83d\\ude00"'), '😀');
  });

  it('may name a member alike in different objects', () => {
    assert.deepEqual(parse('[{"a":1},{"a":{"a":2}}]'), [{ a: 1 }, { a: { a: 2 } }]);
  });
});
