import assert from 'node:assert/strict';
import { listenForOutcomes } from '../../src/store/outcome-feed.js';
import { createDatabase } from '../support/postgres.js';

describe('the feed of outcomes', () => {
  it('ends at once, and without a complaint, when it is closed while it still connects', async () => {
    const database = await createDatabase('orders');
    const errors: unknown[] = [];
    try {
      const feed = listenForOutcomes(database.url, (error) => errors.push(error));

      await feed.close();

      assert.deepEqual(errors, []);
    } finally {
      await database.drop();
    }
  });
});
