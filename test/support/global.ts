import type { Context } from 'mocha';
import { stopRigs } from '../faults/rig.js';
import { noteTest } from './ran-tests.js';
import { stopPostgres } from './postgres.js';
import { stopStacks } from './stack.js';
import { stopTemporal } from './temporal.js';
import { removeTestServer } from './time-skipping-server.js';

/** Runs once after the last test file. The servers are started by the first test that asks for one. */
export async function mochaGlobalTeardown(): Promise<void> {
  await Promise.all([stopStacks(), stopRigs(), stopPostgres(), stopTemporal(), removeTestServer()]);
}

/** Where TESTS_RAN_FILE names a file, each test is noted there, for `npm run test:named`. */
export const mochaHooks = {
  afterEach(this: Context): void {
    const report = process.env['TESTS_RAN_FILE'];
    if (report !== undefined && this.currentTest !== undefined) noteTest(report, this.currentTest);
  },
};
