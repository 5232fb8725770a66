import assert from 'node:assert/strict';
import { Client, Connection } from '@temporalio/client';
import { sharedTemporal } from '../support/temporal.js';
import { savedViews } from './saved-views.js';

describe('the saved views of docs/temporal-ui.md', () => {
  it('are all queries that Temporal takes', async () => {
    const { address } = await sharedTemporal();
    const connection = await Connection.connect({ address });
    try {
      const client = new Client({ connection });
      const views = savedViews();
      assert.ok(views.size >= 9);
      for (const [view, query] of views) {
        await assert.doesNotReject(client.workflow.count(query), view);
      }
      await assert.rejects(client.workflow.count('NoSuchAttribute = "x"'));
    } finally {
      await connection.close();
    }
  });
});
