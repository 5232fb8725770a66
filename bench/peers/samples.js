/**
 * The order on Temporal as its samples have it (temporalio/samples-typescript: `saga`, `hello-world`,
 * `activities-examples`): the dev server without any setting but a file to keep its data in, a worker in a process of
 * its own, regular activities, and a client that starts the workflow and waits for its result. The workflow's ID is
 * made of the key, and a second start with it is refused, as the documentation recommends for keyed requests.
 */
import { Client, Connection, WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import { serve, settings } from './entry.js';

const config = settings();
const connection = await Connection.connect({ address: config.temporalAddress });
const client = new Client({ connection });

await serve(
  config,
  async (id, request) => {
    try {
      const handle = await client.workflow.start('placeOrder', {
        taskQueue: 'orders',
        workflowId: id,
        workflowIdReusePolicy: 'REJECT_DUPLICATE',
        args: [request],
      });
      return await handle.result();
    } catch (error) {
      if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
      return client.workflow.getHandle(id).result();
    }
  },
  () => connection.close(),
);
