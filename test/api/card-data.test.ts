import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { holdsCardNumber } from '../../src/api/card-data.js';

/** Numbers that the networks publish for tests. */
const CARDS = [
  '4111111111111111',
  '4222222222222',
  '4000000000000000006',
  '5555555555554444',
  '2223003122003222',
  '2720994326581252',
  '378282246310005',
  '30569309025904',
  '38520000023237',
  '3530111333300000',
  '6011111111111117',
  '6221260000000000',
  '6304000000000000',
  '2200000000000004',
];

describe('card data', () => {
  for (const card of CARDS) {
    it(`knows ${card}`, () => {
      assert.ok(holdsCardNumber(card));
    });
  }

  for (const text of [
    '4111 1111 1111 1111',
    '4111-1111-1111-1111',
    '4111\u00a01111\u20111111 \t 1111',
    'card:4111111111111111.',
    'x4111111111111111x',
    '４１１１１１１１１１１１１１１１',
    '12, 4111 1111 1111 1111, 34',
    '4111 1111 1111 1111 12/27 123',
    '4111111111111111 123',
    '99 4111-1111-1111-1111',
    '4111\u200b1111\u00ad1111\u22121111',
  ]) {
    it(`finds it in ${JSON.stringify(text)}`, () => {
      assert.ok(holdsCardNumber(text));
    });
  }

  for (const [text, why] of [
    ['4111111111111112', 'a wrong Luhn digit'],
    ['1000000000000008', 'no issuer'],
    ['9999999999999995', 'no issuer'],
    ['424242424242', 'twelve digits'],
    ['41111111111111111111', 'twenty digits'],
    ['4111.1111.1111.1111', 'dots between'],
    ['4111_1111_1111_1111', 'underscores between'],
    ['', 'nothing'],
    ['pm_ok', 'no digits'],
    ['3f2b8c5e-9d1a-4f60-8e57-0c4d1b7a6e2f', 'a UUID'],
    ['a4111111-1111-1111-81a5-0c4d1b7a6e2f', 'a UUID with such a run'],
    ['retry of A4111111-1111-1111-81A5-0C4D1B7A6E2F', 'a UUID within a text'],
    ['abcd41111111111111110c4d1b7a6e2f', 'a UUID without its dashes'],
  ] as const) {
    it(`lets ${JSON.stringify(text)} pass: ${why}`, () => {
      assert.ok(!holdsCardNumber(text));
    });
  }

  it('lets every random UUID pass, as a key is made of one', () => {
    const refused = Array.from({ length: 20_000 }, () => randomUUID()).filter(holdsCardNumber);

    assert.deepEqual(refused, []);
  });

  // Quadratic work would take minutes, and the test's time limit ends it.
  it('reads a long text of digits and blanks', () => {
    const text = '9 '.repeat(30_000) + 'x';

    assert.ok(!holdsCardNumber(text));
  });
});
