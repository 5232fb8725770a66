import { Client } from '@temporalio/client';
import { NativeConnection, Worker } from '@temporalio/worker';
import type { Activities } from '../../src/activities/index.js';
import { sharedTemporal } from './temporal.js';
import { timeSkippingConnection } from './time-skipping.js';
import { workflowBundle } from './workflow-bundle.js';

export interface WorkflowWorker {
  /** Starts workflows that skip time. */
  readonly client: Client;
  readonly stop: () => Promise<void>;
}

/** A worker of the product's workflows on a task queue of its own, with the given activities. */
export async function startWorkflowWorker(
  taskQueue: string,
  activities: Activities,
): Promise<WorkflowWorker> {
  const { address } = await sharedTemporal();
  const connection = await timeSkippingConnection(address);
  const native = await NativeConnection.connect({ address });
  const worker = await Worker.create({
    connection: native,
    taskQueue,
    workflowBundle: await workflowBundle(),
    activities,
  });
  const running = worker.run();
  return {
    client: new Client({ connection }),
    stop: async () => {
      worker.shutdown();
      await running;
      await native.close();
      await connection.close();
    },
  };
}
