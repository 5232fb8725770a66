import assert from 'node:assert/strict';
import { runChaos } from '../chaos/chaos.js';
import { HARMS } from '../chaos/plan.js';
import { impatientStack } from '../support/stack.js';
import type { RunningStack } from '../support/stack.js';

const ORDERS = 40;

/** Shown with a failure: the same plan again, not the same interleaving. */
const SEED = Date.now() % 1_000_000;

describe('promise: whatever an operator does to workflows, money, goods and answers agree', () => {
  let stack: RunningStack;

  before(async function () {
    this.timeout(180_000); // builds, downloads and starts on a fresh machine
    stack = await impatientStack();
  });

  it('ends orders right that are terminated, reset, deleted or cancelled at random', async () => {
    const { violations, counts } = await runChaos(stack, {
      orders: ORDERS,
      inFlight: ORDERS,
      seed: SEED,
      say: () => undefined,
    });

    assert.deepEqual(violations, [], `seed ${SEED}:\n${violations.join('\n')}`);
    // A run in which nothing was hit would prove nothing.
    assert.ok(HARMS.some((harm) => (counts[harm] ?? 0) > 0));
  }).timeout(240_000);
});
