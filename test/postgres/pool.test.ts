import assert from 'node:assert/strict';
import { Overloaded } from '../../src/overload.js';
import { createPool, isDatabaseUnavailable } from '../../src/postgres/pool.js';
import { freePort } from '../support/free-port.js';
import { createDatabase } from '../support/postgres.js';
import type { TestDatabase } from '../support/postgres.js';

describe('a pool of connections', () => {
  let database: TestDatabase;

  before(async () => {
    database = await createDatabase('orders');
  });
  after(() => database.drop());

  const poolOn = (connectionString: string) =>
    createPool({
      connectionString,
      max: 1,
      maxWaiting: 2,
      applicationName: 'order-saga test',
      onIdleError: () => undefined,
    });

  it('turns those away at once for whom there is no room, and serves all others', async () => {
    const pool = poolOn(database.url);

    const [query, connection] = [pool.query('select 1 as one'), pool.connect()];
    const third = pool.query('select 3 as one');
    const results = await Promise.allSettled([pool.query('select'), pool.connect()]);
    const client = await connection;
    client.release();

    assert.deepEqual((await query).rows, [{ one: 1 }]);
    assert.deepEqual((await third).rows, [{ one: 3 }]);
    for (const result of results) {
      assert.ok(result.status === 'rejected' && result.reason instanceof Overloaded);
    }
    await pool.end();
  });

  it('says that the database is away, not busy, where no connection comes back', async () => {
    const pool = poolOn(database.url);
    await pool.query('select');
    const held = await pool.connect();

    // No connection has come back for three seconds when this one gives up: so this is not "busy".
    const waitedInVain = await pool.query('select').catch((error: unknown) => error);

    held.release();
    assert.ok(!(waitedInVain instanceof Overloaded));
    assert.ok(isDatabaseUnavailable(waitedInVain));
    await pool.query('select');
    await pool.end();
  });

  it('never takes a database that is away for busy', async () => {
    const away = new URL(database.url);
    away.port = String(await freePort());
    const pool = poolOn(away.href);
    await assert.rejects(pool.query('select'));

    const results = await Promise.allSettled(
      Array.from({ length: 10 }, () => pool.query('select')),
    );

    for (const result of results) {
      assert.ok(result.status === 'rejected' && isDatabaseUnavailable(result.reason));
    }
    await pool.end();
  });
});
