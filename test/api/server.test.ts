import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createClientStore } from '../../src/store/clients.js';
import { freePort } from '../support/free-port.js';
import { createDatabase } from '../support/postgres.js';
import type { TestDatabase } from '../support/postgres.js';
import { until } from '../support/until.js';

describe('an API process without API_KEYS', () => {
  let database: TestDatabase;

  before(async () => {
    database = await createDatabase('orders');
  });
  after(() => database.drop());

  /** Starts it on a database; Temporal is away all the time, which is not what is asked here. */
  async function start(databaseUrl: string) {
    const [port, nowhere] = [await freePort(), await freePort()];
    const child = spawn(process.execPath, ['--import=tsx', 'src/api/server.ts'], {
      env: {
        PATH: process.env['PATH'] ?? '',
        PORT: String(port),
        DATABASE_URL: databaseUrl,
        TEMPORAL_ADDRESS: `127.0.0.1:${nowhere}`,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => (output += text));
    }
    return {
      url: `http://127.0.0.1:${port}`,
      output: () => output,
      exited: once(child, 'exit').then(([code]) => code as number | null),
      stop: async () => {
        child.kill('SIGKILL');
        await once(child, 'exit');
      },
    };
  }
  const isAlive = (url: string) => () =>
    fetch(`${url}/healthz`).then(
      ({ ok }) => ok,
      () => false,
    );
  const read = async (url: string): Promise<unknown> => {
    const headers = { authorization: 'Bearer some-token' };
    const answer = await fetch(`${url}/orders/ORD-0123456789abcdef0123456789abcdef`, { headers });
    const { type } = (await answer.json()) as { type: string };
    return [answer.status, type];
  };

  it('is refused while Postgres has no tenant either, with a line that says what to do', async () => {
    const api = await start(database.url);

    assert.equal(await api.exited, 1);
    assert.match(api.output(), /API_KEYS must be set.*npm run clients -- add/);
    assert.doesNotMatch(api.output(), /\n +at /);
  });

  it('starts where Postgres has one, or can not be asked; then nobody is let in', async () => {
    const tenant = { kind: 'tenant', name: 'acme' } as const;
    await createClientStore(database.pool).add(tenant, 'a'.repeat(64));
    const away = new URL(database.url);
    away.port = String(await freePort());
    const [api, blind] = [await start(database.url), await start(away.href)];
    try {
      await until(isAlive(api.url));
      await until(isAlive(blind.url));

      assert.deepEqual(await read(api.url), [401, '/problems/unauthorized']);
      assert.deepEqual(await read(blind.url), [503, '/problems/store-unavailable']);
    } finally {
      await Promise.all([api.stop(), blind.stop()]);
    }
  });
});
