import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { Client } from '@temporalio/client';
import { NativeConnection, Worker } from '@temporalio/worker';
import { sleepADay } from '../support/sleeper.js';
import { sharedTemporal } from '../support/temporal.js';
import { timeSkippingConnection } from '../support/time-skipping.js';

describe('time skipping on the dev server', () => {
  it('lets a day pass at once', async () => {
    const { address } = await sharedTemporal();
    const connection = await timeSkippingConnection(address);
    const nativeConnection = await NativeConnection.connect({ address });
    const taskQueue = randomUUID();
    const worker = await Worker.create({
      connection: nativeConnection,
      taskQueue,
      workflowsPath: fileURLToPath(new URL('../support/sleeper.ts', import.meta.url)),
    });

    const result = await worker.runUntil(
      new Client({ connection }).workflow.execute(sleepADay, {
        taskQueue,
        workflowId: randomUUID(),
      }),
    );

    assert.equal(result, 'awake');
    await Promise.all([connection.close(), nativeConnection.close()]);
  });
});
