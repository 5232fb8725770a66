import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { Client } from '@temporalio/client';
import { NativeConnection, Worker } from '@temporalio/worker';
import { sleepADay } from '../support/sleeper.js';
import { sharedTemporal } from '../support/temporal.js';
import { createTimeSkippingEnvironment } from '../support/time-skipping-server.js';
import { timeSkippingConnection } from '../support/time-skipping.js';

const workflowsPath = fileURLToPath(new URL('../support/sleeper.ts', import.meta.url));

describe('time skipping', () => {
  it('lets a day pass at once on the dev server', async () => {
    const { address } = await sharedTemporal();
    const connection = await timeSkippingConnection(address);
    const nativeConnection = await NativeConnection.connect({ address });
    const taskQueue = randomUUID();
    const workflowId = randomUUID();
    const worker = await Worker.create({ connection: nativeConnection, taskQueue, workflowsPath });
    const client = new Client({ connection });

    const result = await worker.runUntil(
      client.workflow.execute(sleepADay, { taskQueue, workflowId }),
    );

    assert.equal(result, 'awake');
    await Promise.all([connection.close(), nativeConnection.close()]);
  });

  // The first run on a machine resolves the server's jars, which takes a while.
  it('lets a day pass at once on the test server', async function () {
    this.timeout(120_000);
    const environment = await createTimeSkippingEnvironment();
    const { client, nativeConnection: connection } = environment;
    const taskQueue = randomUUID();
    const workflowId = randomUUID();
    const worker = await Worker.create({ connection, taskQueue, workflowsPath });

    const result = await worker.runUntil(
      client.workflow.execute(sleepADay, { taskQueue, workflowId }),
    );

    assert.equal(result, 'awake');
    await environment.teardown();
  });
});
