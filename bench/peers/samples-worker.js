/** The worker of `samples.js`, with the options that the samples set: none. */
import { fileURLToPath } from 'node:url';
import { ApplicationFailure } from '@temporalio/common';
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { settings } from './entry.js';
import { createSteps, Refused } from './steps.js';

const config = settings();
Runtime.install({ logger: new DefaultLogger('WARN') });
const steps = createSteps(config);
/** A definite no is not retried. */
const activity = (call) => async (order) => {
  try {
    await call(order);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    throw ApplicationFailure.nonRetryable(error.message, 'Refused');
  }
};
const worker = await Worker.create({
  connection: await NativeConnection.connect({ address: config.temporalAddress }),
  workflowsPath: fileURLToPath(new URL('./samples-workflows.js', import.meta.url)),
  activities: {
    charge: activity(steps.charge),
    reserve: activity(steps.reserve),
    refund: activity(steps.refund),
  },
  taskQueue: 'orders',
});
await worker.run();
process.exit(0);
