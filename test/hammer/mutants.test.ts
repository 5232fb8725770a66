import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { LANES } from '../../hammer/faults.js';
import { MUTANTS } from '../../hammer/mutants.js';

const read = (file: string): string =>
  readFileSync(fileURLToPath(new URL(`../../${file}`, import.meta.url)), 'utf8');

describe('the mutants', () => {
  for (const { name, faults, edits } of MUTANTS) {
    it(`"${name}" still has its text to replace, and faults that meet it`, () => {
      for (const { file, find, replace } of edits) {
        const times = read(file).split(find).length - 1;
        assert.equal(times, 1, `${file} has ${times} times:\n${find}`);
        assert.notEqual(find, replace);
      }
      const met = Object.values(LANES)
        .flat()
        .filter((fault) => new RegExp(faults).test(fault.name));
      assert.ok(met.length > 0);
    });
  }
});
