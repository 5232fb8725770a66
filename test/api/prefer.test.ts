import assert from 'node:assert/strict';
import { readPreference } from '../../src/api/prefer.js';

/** What is sent, the seconds to wait and what is said to be applied. */
const UNDERSTOOD: readonly (readonly [string, number, string])[] = [
  ['respond-async', 0, 'respond-async'],
  ['Respond-Async', 0, 'respond-async'],
  ['wait=5', 5, 'wait=5'],
  ['WAIT = "5"', 5, 'wait=5'],
  ['wait=0', 0, 'wait=0'],
  ['wait=60', 60, 'wait=60'],
  ['wait=61', 60, 'wait=60'],
  ['wait=99999999999999999999', 60, 'wait=60'],
  ['respond-async, wait=7', 7, 'respond-async, wait=7'],
  ['wait=7,respond-async', 7, 'respond-async, wait=7'],
  ['respond-async, wait=abc', 0, 'respond-async'],
  ['respond-async;x=y', 0, 'respond-async'],
  ['handling=strict, wait=3; n="a,b"', 3, 'wait=3'],
  ['return="a, wait=9", wait=2', 2, 'wait=2'],
  ['wait=4, wait=9', 4, 'wait=4'],
];

describe('Prefer', () => {
  for (const [header, waitSeconds, applied] of UNDERSTOOD) {
    it(`reads ${header}`, () => {
      assert.deepEqual(readPreference(header), { waitSeconds, applied });
    });
  }

  for (const header of [
    undefined,
    '',
    'wait',
    'wait=',
    'wait=-1',
    'wait=1.5',
    'wait=1e1',
    'wait=abc',
    'wait=0x10',
    'wait="',
    'respond-async=yes',
    'respond-asynchronously',
    'handling=strict',
    ';wait=1',
    '=5',
    ', ,',
  ]) {
    it(`ignores ${header ?? 'no header'}`, () => {
      assert.equal(readPreference(header), undefined);
    });
  }
});
