/**
 * First digits of the card issuers that are in use: Visa 4, Mastercard 51–55 and 2221–2720, American Express
 * 34 and 37, Diners 300–305, 309, 36, 38 and 39, JCB 3528–3589, Discover 6011, 644–649 and 65, UnionPay 62 and
 * 81, Maestro 50, 56–58, 63 and 67, RuPay 60, 82 and 508, Mir 2200–2204. Source: ISO/IEC 7812 ranges as the
 * networks publish them.
 */
const ISSUER =
  /^(?:4|5[0-8]|222[1-9]|22[3-9]|2[3-6]|27[01]|2720|220[0-4]|3[47]|30[0-59]|3[689]|352[89]|35[3-8]|6[0235]|64[4-9]|67|8[12])/;

const MIN_DIGITS = 13;
const MAX_DIGITS = 19;

/** Groups of digits with nothing but blanks and dashes between them, as long as they go on. */
const DIGIT_RUN = /\d(?:[\s\p{Pd}\p{Cf}\u2212]*\d)*/gu;

/**
 * Ids of 32 hex digits and more, with dashes where a UUID has them. Of a thousand random UUIDs one or more
 * have a run of digits that passes for a card number, and a UUID is what clients are told to use as a key.
 */
const HEX_ID =
  /(?<![0-9a-z])(?:[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|[0-9a-f]{32,})(?![0-9a-z])/giu;

/**
 * Tells whether a JSON value holds card data in any string, be it a value or the name of a member.
 *
 * @param mayHold tells of a member whether its string may look like one, by its name and the path to it.
 */
export function holdsCardData(value: unknown, mayHold: (path: string) => boolean): boolean {
  return visit(value, '');

  function visit(part: unknown, path: string): boolean {
    if (typeof part === 'string') return !mayHold(path) && holdsCardNumber(part);
    if (Array.isArray(part)) return part.some((element) => visit(element, `${path}[]`));
    if (typeof part !== 'object' || part === null) return false;
    return Object.entries(part).some(
      ([name, member]) => holdsCardNumber(name) || visit(member, `${path}.${name}`),
    );
  }
}

/**
 * Tells whether a text holds what must be taken for a card number: 13–19 digits, blanks and dashes not
 * counted, with a known issuer's prefix and a right Luhn digit.
 *
 * Such a number would end up in rows, histories and logs that are made for anything but card data.
 */
export function holdsCardNumber(text: string): boolean {
  // Compatibility forms, such as full-width digits, are digits to people and to most software.
  for (const [run] of text.normalize('NFKC').replace(HEX_ID, '#').matchAll(DIGIT_RUN)) {
    const groups = run.split(/\D+/u);
    if (groups.some((_, first) => startsCardNumber(groups.slice(first, first + MAX_DIGITS))))
      return true;
  }
  return false;
}

/** Whole groups, as many as it takes: an expiry date or a verification code may follow behind a blank. */
function startsCardNumber(groups: readonly string[]): boolean {
  let digits = '';
  for (const group of groups) {
    digits += group;
    if (digits.length > MAX_DIGITS) return false;
    if (digits.length >= MIN_DIGITS && ISSUER.test(digits) && hasLuhnDigit(digits)) return true;
  }
  return false;
}

/** ISO/IEC 7812-1, annex B: every second digit from the right is doubled. */
function hasLuhnDigit(digits: string): boolean {
  let sum = 0;
  for (let index = 1; index <= digits.length; index += 1) {
    const value = Number(digits.at(-index)) * (index % 2 === 1 ? 1 : 2);
    sum += value > 9 ? value - 9 : value;
  }
  return sum % 10 === 0;
}
