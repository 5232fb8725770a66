import { stopRigs } from '../faults/rig.js';
import { stopPostgres } from './postgres.js';
import { stopStacks } from './stack.js';
import { stopTemporal } from './temporal.js';
import { removeTestServer } from './time-skipping-server.js';

/** Runs once after the last test file. The servers are started by the first test that asks for one. */
export async function mochaGlobalTeardown(): Promise<void> {
  await Promise.all([stopStacks(), stopRigs(), stopPostgres(), stopTemporal(), removeTestServer()]);
}
