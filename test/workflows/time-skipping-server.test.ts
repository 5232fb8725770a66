import assert from 'node:assert/strict';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { Worker } from '@temporalio/worker';
import { SEARCH_ATTRIBUTES } from '../../src/temporal/search-attributes.js';
import { placeOrder } from '../../src/workflows/place-order.js';
import { anInput, workflowIdOf } from '../support/orders.js';
import { createTimeSkippingEnvironment } from '../support/time-skipping-server.js';
import { workflowBundle } from '../support/workflow-bundle.js';
import { createWorld, distinctCalls } from '../support/world.js';
import type { Call, Scenario } from '../support/world.js';

/** `temporal.api.enums.v1.IndexedValueType` */
const KEYWORD = 2;
const DONE = { payment: 'done', inventory: 'done' } as const;
const failing = (times: number) => (_call: Call, nth: number) =>
  nth <= times ? ('pass' as const) : undefined;

/** One order of each kind, as `place-order.test.ts` has them all on the dev server. */
const CASES: readonly (readonly [Scenario, string, string])[] = [
  [DONE, 'confirmed', 'charge reserve save'],
  [{ ...DONE, payment: 'done-later' }, 'confirmed', 'charge reserve save'],
  [{ ...DONE, payment: 'refused' }, 'payment-declined', 'charge decide save'],
  [
    { ...DONE, payment: 'unknown-happened' },
    'payment-unavailable',
    'charge decide release refund save',
  ],
  [{ ...DONE, inventory: 'refused' }, 'out-of-stock', 'charge reserve decide refund save'],
  [
    { ...DONE, inventory: 'unknown-not-happened' },
    'inventory-unavailable',
    'charge reserve decide release refund save',
  ],
  [
    { ...DONE, inventory: 'refused', undoFails: failing(40) },
    'out-of-stock',
    'charge reserve decide refund attention refund save',
  ],
];

/**
 * The SDK's own test server, which is another implementation of Temporal than the dev server. Serially: its
 * clock is one for all, and jumps; so only outcomes are asserted.
 */
describe('placeOrder on the time-skipping test server', () => {
  const world = createWorld();
  const taskQueue = 'time-skipping-server-test';
  let environment: TestWorkflowEnvironment;
  let worker: Worker;

  before(async function () {
    this.timeout(180_000); // downloads on a fresh machine
    environment = await createTimeSkippingEnvironment();
    // This server can't list them, so the product's own way, which looks first, is of no use here.
    await environment.connection.operatorService.addSearchAttributes({
      namespace: 'default',
      searchAttributes: Object.fromEntries(SEARCH_ATTRIBUTES.map((name) => [name, KEYWORD])),
    });
    worker = await Worker.create({
      connection: environment.nativeConnection,
      taskQueue,
      workflowBundle: await workflowBundle(),
      activities: world.activities,
    });
  });
  after(() => environment.teardown());

  it('ends an order of each kind as on the dev server', async () => {
    const { client } = environment;
    await worker.runUntil(async () => {
      for (const [scenario, ends, calls] of CASES) {
        const input = anInput();
        const seen = world.prepare(input.order.orderId, scenario);

        const outcome = await client.workflow.execute(placeOrder, {
          taskQueue,
          workflowId: workflowIdOf(input.order),
          args: [input],
        });

        assert.equal(outcome.status === 'confirmed' ? 'confirmed' : outcome.reason, ends);
        const operations = distinctCalls(seen.calls).map((line) => line.split(' ')[0]);
        assert.equal(operations.join(' '), calls);
      }
    });
  }).timeout(60_000);
});
