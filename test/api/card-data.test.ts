import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { holdsCardData, holdsCardNumber } from '../../src/api/card-data.js';

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

/** The ends of the issuers' ranges, and the lengths that they give out. Source: ISO/IEC 7812 ranges as published. */
const ISSUERS: Readonly<Record<string, readonly [prefixes: string, lengths: readonly number[]]>> = {
  Visa: ['4', [13, 16, 19]],
  Mastercard: ['51 52 53 54 55 2221 2299 23 26 270 271 2720', [16]],
  'American Express': ['34 37', [15]],
  'Diners Club': ['300 305 309 36 38 39', [14, 16, 19]],
  JCB: ['3528 3529 353 358 3589', [16, 19]],
  Discover: ['6011 644 649 65', [16, 19]],
  UnionPay: ['62 81', [16, 17, 18, 19]],
  Maestro: ['50 56 57 58 63 67', [13, 15, 16, 19]],
  RuPay: ['60 82 508', [16]],
  Mir: ['2200 2204', [16, 19]],
};
const NO_ISSUER =
  '0 1 7 9 2199 2205 2220 2721 28 306 308 31 32 33 351 3527 359 61 640 643 66 68 69 80 83 89';

/** Digits that begin so, of that length, with the right Luhn digit. */
function numberOf(prefix: string, length: number): string {
  const payload = prefix.padEnd(length - 1, '3759201846');
  const sum = payload
    .split('')
    .toReversed()
    .map((digit, index) => Number(digit) * (index % 2 === 0 ? 2 : 1))
    .reduce((total, value) => total + (value > 9 ? value - 9 : value), 0);
  return payload + String((10 - (sum % 10)) % 10);
}

describe('card data', () => {
  for (const [issuer, [prefixes, lengths]] of Object.entries(ISSUERS)) {
    it(`knows the numbers of ${issuer}, and none whose Luhn digit is wrong`, () => {
      for (const prefix of prefixes.split(' ')) {
        for (const length of lengths) {
          const card = numberOf(prefix, length);
          const wrong = card.slice(0, -1) + String((Number(card.at(-1)) + 1) % 10);

          assert.ok(holdsCardNumber(card), card);
          assert.ok(holdsCardNumber(card.replace(/(....)(?=.)/g, '$1 ')), `${card} in fours`);
          assert.ok(
            holdsCardNumber(`no. ${card.replace(/(....)(?=.)/g, '$1-')}!`),
            `${card} dashed`,
          );
          assert.ok(!holdsCardNumber(wrong), wrong);
        }
      }
    });
  }

  it('lets numbers pass that no issuer begins so, or of another length', () => {
    const numbers = NO_ISSUER.split(' ').flatMap((prefix) =>
      [13, 15, 16, 19].map((length) => numberOf(prefix, length)),
    );
    numbers.push(numberOf('4', 12), numberOf('4', 20), numberOf('51', 12), numberOf('62', 20));

    assert.deepEqual(numbers.filter(holdsCardNumber), []);
  });

  it('is found in every string and every name of a body, but in no SKU', () => {
    const card = '4111111111111111';
    const isSku = (path: string): boolean => path === '.items[].sku';
    const name = fc.stringMatching(/^[a-z]{1,4}$/);
    const path = fc.array(fc.oneof(name, fc.nat({ max: 2 })), { maxLength: 5 });
    const build = (steps: readonly (string | number)[], leaf: unknown): unknown =>
      steps.reduceRight<unknown>(
        (inner, step) =>
          typeof step === 'string' ? { a: 1, [step]: inner } : [...Array(step).keys(), inner],
        leaf,
      );

    fc.assert(
      fc.property(path, name, (steps, member) => {
        assert.ok(holdsCardData(build(steps, `x ${card}`), isSku));
        assert.ok(holdsCardData(build(steps, { [`${member} ${card}`]: 1 }), isSku));
        assert.ok(!holdsCardData(build(steps, 'x'), isSku));
      }),
    );
    assert.ok(!holdsCardData({ items: [{ sku: card, quantity: 1 }] }, isSku));
    assert.ok(holdsCardData({ sku: card, items: [{ sku: 'a', note: card }] }, isSku));
  });

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

  it('takes few of the ids that are made at random for a card number', () => {
    const digits = (length: number): string =>
      Array.from({ length }, () => Math.floor(Math.random() * 10)).join('');
    const letters = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
    const ulid = (): string =>
      `01K${Array.from({ length: 23 }, () => letters[Math.floor(Math.random() * 32)]).join('')}`;
    const refused = (make: () => string): number =>
      Array.from({ length: 20_000 }, make).filter(holdsCardNumber).length / 20_000;

    assert.equal(
      refused(() => `order-${digits(10)}`),
      0,
    );
    assert.equal(
      refused(() => `${Date.now()}`),
      0,
    );
    assert.equal(
      refused(() => `2026-12-01-${digits(6)}`),
      0,
    );
    assert.ok(refused(ulid) < 0.000_5);
    // One in ten has a right Luhn digit, and a third begins as some issuer does: such ids are better not numbers.
    assert.ok(refused(() => digits(16)) < 0.05);
  });

  // Quadratic work would take minutes, and the test's time limit ends it.
  it('reads a long text of digits and blanks', () => {
    const text = '9 '.repeat(30_000) + 'x';

    assert.ok(!holdsCardNumber(text));
  });
});
