import { appendFileSync, readFileSync } from 'node:fs';
import { relative } from 'node:path';
import type { Test } from 'mocha';

/** A test that ran to its end. */
export interface RanTest {
  readonly file: string;
  /** Its own title, after those of the suites that it is in. */
  readonly titles: readonly string[];
  readonly passed: boolean;
}

/** Notes a test in a file: one line each, so that several processes can share it. */
export function noteTest(report: string, test: Test): void {
  const ran: RanTest = {
    file: relative(process.cwd(), test.file ?? ''),
    titles: test.titlePath(),
    passed: test.state === 'passed',
  };
  appendFileSync(report, `${JSON.stringify(ran)}\n`);
}

export function readReport(report: string): readonly RanTest[] {
  const lines = readFileSync(report, 'utf8').split('\n');
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as RanTest);
}
