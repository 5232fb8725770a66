import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { createDatabase } from '../support/postgres.js';
import type { TestDatabase } from '../support/postgres.js';
import { freePort } from '../support/free-port.js';
import { until } from './service-harness.js';

/** The payment server as a process of its own; the inventory's differs in names only. */
function start(name: 'payment' | 'inventory', env: Record<string, string>) {
  const child = spawn(process.execPath, ['--import=tsx', `src/services/${name}/server.ts`], {
    env: { PATH: process.env['PATH'] ?? '', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  }
  return { child, output: () => output };
}

const exitOf = async (child: ChildProcess): Promise<unknown> => (await once(child, 'exit'))[0];

describe('service processes', () => {
  const databases: TestDatabase[] = [];
  const children: ChildProcess[] = [];

  const startOn = async (name: 'payment' | 'inventory', more: Record<string, string> = {}) => {
    const database = await createDatabase(name);
    databases.push(database);
    const port = await freePort();
    const prefix = name.toUpperCase();
    const service = start(name, {
      [`${prefix}_PORT`]: String(port),
      [`${prefix}_DATABASE_URL`]: database.url,
      ...more,
    });
    children.push(service.child);
    return { ...service, database, port, url: `http://127.0.0.1:${port}` };
  };
  const isReady = (url: string) => () =>
    fetch(`${url}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );

  after(async () => {
    for (const child of children) child.kill('SIGKILL');
    await Promise.all(databases.map(({ drop }) => drop()));
  });

  it('serve, and at SIGTERM answer what they have and drop what they hold, also at a second one', async () => {
    const { url, port, child, database, output } = await startOn('payment', { FAULTS: 'on' });
    await until(isReady(url));
    const faults = [
      { operation: 'charge', orderId: 'held', fault: 'hold' },
      { operation: 'charge', orderId: 'late', fault: 'delay-after', delayMs: 600_000 },
    ];
    const headers = { 'content-type': 'application/json' };
    await fetch(`${url}/faults`, { method: 'PUT', headers, body: JSON.stringify(faults) });
    const held = charge(port, 'held').catch((error: unknown) => (error as Error).message);
    const late = charge(port, 'late');
    await until(async () => {
      const calls = (await (await fetch(`${url}/calls`)).json()) as { effect: boolean }[];
      return calls.length === 2 && calls.some(({ effect }) => effect);
    });

    const startedAt = performance.now();
    child.kill('SIGTERM');
    child.kill('SIGTERM');

    assert.equal(await exitOf(child), 0, output());
    assert.ok(performance.now() - startedAt < 10_000);
    assert.deepEqual([await held, await late], ['socket hang up', 201]);
    const { rows } = await database.pool.query('select order_id from charges');
    assert.deepEqual(rows, [{ order_id: 'late' }]);
    assert.match(output(), /"operation":"charge","orderId":"late","effect":true,"status":201/);
  });

  it('start without faults unless told to, and with a token where one is set', async () => {
    const { url, child } = await startOn('inventory', { INVENTORY_TOKEN: 'secret' });
    await until(isReady(url));
    const headers = { authorization: 'Bearer secret' };

    const withoutToken = await fetch(`${url}/faults`);
    const withToken = await fetch(`${url}/faults`, { headers });

    assert.deepEqual([withoutToken.status, withToken.status], [401, 404]);
    child.kill('SIGINT');
    assert.equal(await exitOf(child), 0);
  });

  it('name the variable to set when the port is in use, or when the database is not given', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as AddressInfo;

    const inUse = await startOn('payment', { PAYMENT_PORT: String(port) });
    const noDatabase = start('payment', {});
    children.push(noDatabase.child);
    const exits = await Promise.all([exitOf(inUse.child), exitOf(noDatabase.child)]);
    taken.close();

    assert.deepEqual(exits, [1, 1]);
    assert.match(inUse.output(), /is in use: set PAYMENT_PORT to a free port\./);
    assert.match(noDatabase.output(), /PAYMENT_DATABASE_URL must be set/);
    assert.doesNotMatch(noDatabase.output(), /\n +at /);
  });
});

/** Charges over a connection that the client would like to keep. */
function charge(port: number, orderId: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const call = request(
      {
        host: '127.0.0.1',
        port,
        path: '/charges',
        method: 'POST',
        agent: new Agent({ keepAlive: true }),
        headers: { 'content-type': 'application/json', 'idempotency-key': orderId },
      },
      (response) => {
        response.resume().on('end', () => resolve(response.statusCode));
      },
    );
    call.on('error', reject);
    call.end(JSON.stringify({ orderId, amount: 1, currency: 'JPY', paymentMethod: 'pm_ok' }));
  });
}
