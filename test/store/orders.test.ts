import assert from 'node:assert/strict';
import { createDatabase } from '../support/postgres.js';
import type { TestDatabase } from '../support/postgres.js';

describe('order store', () => {
  let database: TestDatabase;

  before(async () => {
    database = await createDatabase('orders');
  });
  after(() => database.drop());

  it('starts empty', async () => {
    const { rows } = await database.pool.query('select 1 from orders');

    assert.deepEqual(rows, []);
  });
});
