/**
 * The order on DBOS, as its documentation has it (docs.dbos.dev, TypeScript; checked against @dbos-inc/dbos-sdk 5.3):
 * - the workflow ID is the idempotency key ("Workflow IDs and Idempotency"; the widget store of dbos-demo-apps starts
 *   its checkout the same way, behind Fastify);
 * - each call to the world is a step by `DBOS.runStep`, retried, except where the error is a definite no;
 * - the handle of a workflow that this process runs waits for it in memory, not in the database;
 * - a pool for as many connections as our API has: at its default of 10, with 50 orders in flight it waits for them.
 */
import { DBOS } from '@dbos-inc/dbos-sdk';
import { serve, settings } from './entry.js';
import { cancelled, CONFIRMED, createSteps, Refused } from './steps.js';

const config = settings();
const steps = createSteps(config);

const step = (name, call) =>
  DBOS.runStep(call, {
    name,
    retriesAllowed: true,
    maxAttempts: 10,
    shouldRetry: (error) => !(error instanceof Refused),
  });

const placeOrder = DBOS.registerWorkflow(
  async ({ order, hash }) => {
    const undos = [];
    try {
      await step('charge', () => steps.charge(order));
      undos.unshift(() => step('refund', () => steps.refund(order)));
      await step('reserve', () => steps.reserve(order));
      return { order, hash, outcome: CONFIRMED };
    } catch (error) {
      for (const undo of undos) await undo();
      // An error that comes back from the database after a crash has lost its class, but not its fields.
      return { order, hash, outcome: cancelled(error.reason) };
    }
  },
  { name: 'placeOrder' },
);

DBOS.setConfig({
  name: 'orders',
  applicationVersion: '0.1.0',
  systemDatabaseUrl: config.databaseUrl,
  systemDatabasePoolSize: 20,
  logLevel: 'error',
});
await DBOS.launch();
await serve(
  config,
  async (id, request) => {
    const handle = await DBOS.startWorkflow(placeOrder, { workflowID: id })(request);
    return handle.getResult();
  },
  () => DBOS.shutdown(),
);
