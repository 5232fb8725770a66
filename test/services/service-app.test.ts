import assert from 'node:assert/strict';
import { pino } from 'pino';
import { createPool } from '../../src/postgres/pool.js';
import { buildInventoryApp } from '../../src/services/inventory/app.js';
import { buildPaymentApp } from '../../src/services/payment/app.js';
import { freePort } from '../support/free-port.js';
import { slugOf, startService, until } from './service-harness.js';

for (const [name, build] of [
  ['payment', buildPaymentApp],
  ['inventory', buildInventoryApp],
] as const) {
  describe(`${name} service with a token`, () => {
    let service: Awaited<ReturnType<typeof startService>>;

    before(async () => {
      service = await startService(name, build, { token: 'secret' });
    });
    after(() => service.stop());

    for (const [what, authorization] of Object.entries({
      'no credential': undefined,
      'another token': 'Bearer secre',
      'a longer token': 'Bearer secret2',
      'another scheme': 'Basic secret',
      'an empty one': 'Bearer ',
    })) {
      it(`refuses ${what} on every address, known or not`, async () => {
        const headers = authorization === undefined ? {} : { authorization };

        for (const [method, url] of [
          ['POST', '/charges'],
          ['POST', '/reservations'],
          ['PUT', '/stock/S'],
          ['GET', '/ledger'],
          ['GET', '/calls'],
          ['PUT', '/faults'],
          ['GET', '/no-such-thing'],
        ] as const) {
          const answer = await service.send(
            method,
            url,
            method === 'GET' ? undefined : {},
            headers,
          );
          assert.deepEqual([answer.status, slugOf(answer)], [401, 'unauthorized'], url);
          assert.equal(answer.headers['www-authenticate'], 'Bearer');
        }
        const { body } = await service.send('GET', '/calls', undefined, {
          authorization: 'Bearer secret',
        });
        assert.deepEqual(body, []);
      });
    }

    it('lets the token in, and probes without one', async () => {
      const ledger = await service.send('GET', '/ledger', undefined, {
        authorization: 'bearer secret',
      });
      const probes = [await service.send('GET', '/healthz'), await service.send('GET', '/readyz')];

      assert.deepEqual([ledger.status, ledger.body], [200, []]);
      assert.deepEqual(
        probes.map(({ status }) => status),
        [200, 200],
      );
    });
  });

  describe(`${name} service without its database`, () => {
    const withoutDatabase = async () => {
      const port = await freePort();
      const pool = createPool({
        connectionString: `postgres://postgres@127.0.0.1:${port}/none`,
        max: 2,
        applicationName: 'order-saga test',
        onIdleError: () => undefined,
      });
      const logger = pino({ level: 'silent' });
      return { pool, app: build({ logger, pool, token: undefined, faults: false }) };
    };

    it('is alive, not ready, and answers 503 that says when to come back', async () => {
      const { app, pool } = await withoutDatabase();
      const headers = { 'idempotency-key': 'k' };
      const calls =
        name === 'payment'
          ? [
              {
                url: '/charges',
                payload: { orderId: 'o', amount: 1, currency: 'JPY', paymentMethod: 'pm_ok' },
              },
              { url: '/refunds', payload: { orderId: 'o', chargeKey: 'c' } },
            ]
          : [
              {
                url: '/reservations',
                payload: { orderId: 'o', items: [{ sku: 'S', quantity: 1 }] },
              },
              { url: '/releases', payload: { orderId: 'o', reservationKey: 'r' } },
            ];

      const alive = await app.inject('/healthz');
      const ready = await app.inject('/readyz');
      const answers = await Promise.all(
        calls.map((call) => app.inject({ method: 'POST', headers, ...call })),
      );

      assert.equal(alive.statusCode, 200);
      for (const answer of [ready, ...answers]) {
        assert.equal(answer.statusCode, 503);
        assert.equal(answer.json<{ type: string }>().type, '/problems/store-unavailable');
        assert.equal(answer.headers['retry-after'], '1');
      }
      await app.close();
      await pool.end();
    });
  });

  describe(`${name} service whose connections are cut`, () => {
    it('answers 503 or the result, never a wrong one, and goes on', async () => {
      const service = await startService(name, build);
      const [forward, undo, changes] =
        name === 'payment'
          ? [
              '/charges',
              '/refunds',
              (orderId: string) => ({
                orderId,
                amount: 5,
                currency: 'JPY',
                paymentMethod: 'pm_ok',
              }),
            ]
          : [
              '/reservations',
              '/releases',
              (orderId: string) => ({ orderId, items: [{ sku: 'S', quantity: 1 }] }),
            ];
      const undoKeyName = name === 'payment' ? 'chargeKey' : 'reservationKey';
      if (name === 'inventory') await service.send('PUT', '/stock/S', { onHand: 1_000 });
      let cuts = 0;
      const end = new AbortController();
      const cutting = (async () => {
        while (!end.signal.aborted) {
          const { rowCount } = await service.pool
            .query(
              `select pg_terminate_backend(pid) from pg_stat_activity
               where datname = current_database() and pid <> pg_backend_pid()`,
            )
            .catch(() => ({ rowCount: 0 }));
          cuts += rowCount ?? 0;
          await new Promise((resolve) => setTimeout(resolve, 10));
        }
      })();

      const statuses = new Set<number>();
      const insist = async (url: string, key: string, body: object): Promise<void> => {
        await until(async () => {
          const { status } = await service.post(url, key, body);
          statuses.add(status);
          return status < 500;
        });
      };
      await Promise.all(
        Array.from({ length: 40 }, async (_, i) => {
          const orderId = `o${i}`;
          await insist(forward, `${orderId}:f`, changes(orderId));
          await insist(undo, `${orderId}:u`, { orderId, [undoKeyName]: `${orderId}:f` });
        }),
      );
      end.abort();
      await cutting;

      const { rows } = await service.pool.query<{ undone: number }>(
        `select count(*)::integer as undone from ${name === 'payment' ? 'refunds' : 'releases'}`,
      );
      assert.ok(cuts > 0);
      assert.ok(
        [...statuses].every((status) => [200, 201, 503].includes(status)),
        [...statuses].join(),
      );
      assert.deepEqual(rows, [{ undone: 40 }]);
      if (name === 'inventory') {
        assert.equal((await service.send('GET', '/stock/S')).body['reserved'], 0);
      }
      await service.stop();
    });
  });
}
