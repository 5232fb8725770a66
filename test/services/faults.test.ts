import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { connect } from 'node:net';
import { createCallLog } from '../../src/services/call-log.js';
import { buildInventoryApp } from '../../src/services/inventory/app.js';
import { buildPaymentApp } from '../../src/services/payment/app.js';
import { slugOf, startService, until } from './service-harness.js';
import type { ServiceUnderTest } from './service-harness.js';

describe('fault endpoints', () => {
  let payment: ServiceUnderTest;

  before(async () => {
    payment = await startService('payment', buildPaymentApp);
  });
  afterEach(async () => {
    await payment.send('DELETE', '/faults');
    await payment.send('POST', '/faults/release');
  });
  after(() => payment.stop());

  const anOrder = () => {
    const orderId = `ORD-${randomUUID()}`;
    const key = `${orderId}:pay`;
    const body = { orderId, amount: 1000, currency: 'JPY', paymentMethod: 'pm_ok' };
    return {
      orderId,
      key,
      body,
      charge: (signal?: AbortSignal) => payment.postOnWire('/charges', key, body, signal),
      refund: () => payment.post('/refunds', `${orderId}:comp:pay`, { orderId, chargeKey: key }),
      records: async () =>
        (await payment.calls(orderId)).map(({ operation, effect, status }) => [
          operation,
          effect,
          status,
        ]),
    };
  };
  const isCut = (call: Promise<unknown>) => assert.rejects(call, { name: 'TypeError' });

  describe('error-before', () => {
    it('answers the status, has no effect, and lets the next call through', async () => {
      const order = anOrder();
      await payment.setFaults({
        operation: 'charge',
        fault: 'error-before',
        status: 503,
        times: 1,
      });

      const first = await order.charge();
      const kindsThen = await payment.kinds(order.orderId);
      const second = await order.charge();

      assert.deepEqual([first.status, second.status, kindsThen], [503, 201, []]);
      assert.equal(first.headers.get('retry-after'), '1');
      assert.match(first.headers.get('content-type') ?? '', /^application\/problem\+json/);
      assert.deepEqual(await order.records(), [
        ['charge', false, 503],
        ['charge', true, 201],
      ]);
    });

    it('is a 500 where no status is given, until it is removed', async () => {
      const order = anOrder();
      await payment.setFaults({ operation: 'charge', fault: 'error-before' });

      const before = [await order.charge(), await order.charge()].map(({ status }) => status);
      await payment.send('DELETE', '/faults');
      const after = await order.charge();

      assert.deepEqual([...before, after.status], [500, 500, 201]);
    });
  });

  it('drop-before cuts the connection without an effect', async () => {
    const order = anOrder();
    await payment.setFaults({ operation: 'charge', fault: 'drop-before', times: 1 });

    await isCut(order.charge());

    assert.deepEqual(await payment.kinds(order.orderId), []);
    assert.deepEqual(await order.records(), [['charge', false, null]]);
  });

  it('drop-after cuts the connection after the effect, which the repeat finds', async () => {
    const order = anOrder();
    await payment.setFaults({ operation: 'charge', fault: 'drop-after', times: 1 });

    await isCut(order.charge());
    const kindsThen = await payment.kinds(order.orderId);
    const repeat = await order.charge();

    assert.deepEqual([kindsThen, repeat.status], [['charge'], 201]);
    assert.deepEqual(await payment.kinds(order.orderId), ['charge']);
    assert.deepEqual(await order.records(), [
      ['charge', true, null],
      ['charge', false, 201],
    ]);
  });

  it('drop-after loses a refusal too', async () => {
    const { orderId, key, body } = anOrder();
    const declined = { ...body, paymentMethod: 'pm_declined' };
    await payment.setFaults({ operation: 'charge', fault: 'drop-after', times: 1 });

    await isCut(payment.postOnWire('/charges', key, declined));
    const repeat = await payment.post('/charges', key, declined);

    assert.equal(repeat.status, 402);
    assert.deepEqual(await payment.lines(orderId), []);
  });

  it('delay-after has its effect at once and answers late, each time it is asked', async () => {
    const order = anOrder();
    await payment.setFaults({ operation: 'charge', fault: 'delay-after', delayMs: 300 });
    const startedAt = performance.now();

    const call = order.charge();
    await until(async () => (await payment.kinds(order.orderId)).length === 1);
    const recordsThen = await order.records();
    const answer = await call;

    assert.equal(answer.status, 201);
    assert.deepEqual(recordsThen, [['charge', true, null]]);
    assert.ok(performance.now() - startedAt >= 295);
    assert.deepEqual(await order.records(), [['charge', true, 201]]);
  });

  describe('hold', () => {
    const isHeld = (order: ReturnType<typeof anOrder>, calls = 1) =>
      until(async () => (await order.records()).length === calls);

    it('has its effect at the release, though its client is gone', async () => {
      const order = anOrder();
      const client = new AbortController();
      await payment.setFaults({ operation: 'charge', fault: 'hold', times: 1 });
      const call = order.charge(client.signal);
      await isHeld(order);
      client.abort();
      await assert.rejects(call, { name: 'AbortError' });

      const kindsThen = await payment.kinds(order.orderId);
      const release = await payment.send('POST', '/faults/release');

      assert.deepEqual([release.status, release.body], [200, { released: 1 }]);
      assert.deepEqual([kindsThen, await payment.kinds(order.orderId)], [[], ['charge']]);
      await until(async () => (await order.records())[0]?.[1] === true);
      assert.deepEqual(await order.records(), [['charge', true, 201]]);
    });

    it('answers a client that still waits', async () => {
      const order = anOrder();
      await payment.setFaults({ operation: 'charge', fault: 'hold' });
      const call = order.charge();
      await isHeld(order);

      await payment.send('POST', '/faults/release');

      assert.equal((await call).status, 201);
      assert.deepEqual(await order.records(), [['charge', true, 201]]);
    });

    it('outlasts DELETE and PUT, and a release lets go only what was held then', async () => {
      const [one, two] = [anOrder(), anOrder()];
      await payment.setFaults({ operation: 'charge', fault: 'hold' });
      const first = one.charge();
      await isHeld(one);
      await payment.setFaults({ operation: 'charge', orderId: two.orderId, fault: 'hold' });
      const second = two.charge();
      await isHeld(two);
      await payment.send('DELETE', '/faults');

      const kindsThen = [await payment.kinds(one.orderId), await payment.kinds(two.orderId)];
      const releases = [
        await payment.send('POST', '/faults/release'),
        await payment.send('POST', '/faults/release'),
      ];

      assert.deepEqual(kindsThen, [[], []]);
      assert.deepEqual(
        releases.map(({ body }) => body),
        [{ released: 2 }, { released: 0 }],
      );
      assert.deepEqual([(await first).status, (await second).status], [201, 201]);
    });

    it('lets a charge land after its refund, where the void bars it', async () => {
      const order = anOrder();
      await payment.setFaults({ operation: 'charge', fault: 'hold', times: 1 });
      const call = order.charge();
      await isHeld(order);
      const undo = await order.refund();

      const release = await payment.send('POST', '/faults/release');

      assert.deepEqual([undo.body, release.body], [{ outcome: 'voided' }, { released: 1 }]);
      assert.equal((await call).status, 409);
      assert.deepEqual(await payment.kinds(order.orderId), ['void']);
      assert.deepEqual(await order.records(), [
        ['charge', false, 409],
        ['refund', true, 200],
      ]);
    });

    it('lets 20 held calls of one key go at once, with one effect', async () => {
      const order = anOrder();
      await payment.setFaults({ operation: 'charge', fault: 'hold' });
      const calls = Array.from({ length: 20 }, () => order.charge());
      await isHeld(order, 20);

      const release = await payment.send('POST', '/faults/release');

      assert.deepEqual(release.body, { released: 20 });
      for (const { status } of await Promise.all(calls)) assert.equal(status, 201);
      assert.deepEqual(await payment.kinds(order.orderId), ['charge']);
      const effects = (await payment.calls(order.orderId)).filter(({ effect }) => effect);
      assert.equal(effects.length, 1);
    });

    it('drops held calls without an effect, and late answers early, when the service closes', async () => {
      const closing = await startService('payment', buildPaymentApp);
      const [held, late] = [anOrder(), anOrder()];
      await closing.setFaults(
        { operation: 'charge', orderId: held.orderId, fault: 'hold' },
        { operation: 'charge', fault: 'delay-after', delayMs: 600_000 },
      );
      const cut = isCut(closing.postOnWire('/charges', held.key, held.body));
      const answered = closing.postOnWire('/charges', late.key, late.body);
      await until(async () => (await closing.calls(held.orderId)).length === 1);
      await until(async () => (await closing.kinds(late.orderId)).length === 1);

      await closing.app.close();

      await cut;
      assert.equal((await answered).status, 201);
      const { rows } = await closing.pool.query('select order_id from charges');
      assert.deepEqual(rows, [{ order_id: late.orderId }]);
      await closing.stop();
    });
  });

  describe('the list', () => {
    it('is replaced, shown with the times that are left, and emptied', async () => {
      const order = anOrder();
      const always = { operation: 'refund', fault: 'drop-after' };
      const twice = { operation: 'charge', fault: 'error-before', status: 500, times: 2 };
      await payment.setFaults({ operation: 'refund', fault: 'hold' });

      const put = await payment.setFaults(twice, always);
      await order.charge();
      const after = await payment.send('GET', '/faults');
      const deleted = await payment.send('DELETE', '/faults');

      assert.deepEqual([put.status, put.body], [200, [twice, always]]);
      assert.deepEqual(after.body, [{ ...twice, times: 1 }, always]);
      assert.deepEqual([deleted.status, (await payment.send('GET', '/faults')).body], [200, []]);
    });

    it('is searched in order: the first that matches and has times left applies', async () => {
      const [one, two] = [anOrder(), anOrder()];
      await payment.setFaults(
        { operation: 'refund', fault: 'error-before', status: 501 },
        { operation: 'charge', orderId: one.orderId, fault: 'error-before', status: 502, times: 1 },
        { operation: 'charge', fault: 'error-before', status: 503, times: 2 },
      );

      const statuses = [];
      for (const order of [two, one, one, one]) statuses.push((await order.charge()).status);

      assert.deepEqual(statuses, [503, 502, 503, 201]);
    });

    for (const [what, fault] of Object.entries({
      'an unknown operation': { operation: 'steal' },
      'an unknown fault': { fault: 'explode' },
      'an unknown member': { probability: 1 },
      'times 0': { times: 0 },
      'a negative delay': { delayMs: -1 },
      'a delay above ten minutes': { delayMs: 600_001 },
      'a status that is none': { status: 99 },
      'a status that is no error': { status: 200 },
      'a status above 599': { status: 600 },
    })) {
      it(`refuses ${what} and keeps what it has`, async () => {
        const kept = { operation: 'refund', fault: 'drop-before', times: 3 };
        await payment.setFaults(kept);

        const answer = await payment.setFaults({
          operation: 'charge',
          fault: 'error-before',
          ...fault,
        });

        assert.deepEqual([answer.status, slugOf(answer)], [400, 'validation-failed']);
        assert.deepEqual((await payment.send('GET', '/faults')).body, [kept]);
      });
    }

    it('refuses a fault outside of a list', async () => {
      const fault = { operation: 'charge', fault: 'hold' };

      assert.equal((await payment.send('PUT', '/faults', fault)).status, 400);
    });
  });

  it('survives a client that goes away in the middle of its body', async () => {
    const socket = connect(payment.port, '127.0.0.1');
    socket.write('POST /charges HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n');
    socket.write('Idempotency-Key: half\r\nContent-Length: 100\r\n\r\n{"orderId"');
    await new Promise((resolve) => setImmediate(resolve));
    socket.resetAndDestroy();

    assert.equal((await anOrder().charge()).status, 201);
  });

  it('befall the inventory as well', async () => {
    const inventory = await startService('inventory', buildInventoryApp);
    const body = { orderId: 'o', items: [{ sku: 'S', quantity: 1 }] };
    await inventory.send('PUT', '/stock/S', { onHand: 1 });
    await inventory.setFaults({ operation: 'reserve', fault: 'drop-after', times: 1 });

    await isCut(inventory.postOnWire('/reservations', 'k', body));
    const repeat = await inventory.post('/reservations', 'k', body);

    assert.equal(repeat.status, 201);
    assert.deepEqual(await inventory.kinds('o'), ['reserve']);
    await inventory.stop();
  });

  it('are not there with FAULTS off; the calls still are', async () => {
    const calm = await startService('payment', buildPaymentApp, { faults: false });
    const order = anOrder();
    await calm.post('/charges', order.key, order.body);

    for (const [method, url] of [
      ['GET', '/faults'],
      ['PUT', '/faults'],
      ['DELETE', '/faults'],
      ['POST', '/faults/release'],
    ] as const) {
      const answer = await calm.send(method, url, method === 'PUT' ? [] : undefined);
      assert.deepEqual([answer.status, slugOf(answer)], [404, 'not-found'], `${method} ${url}`);
    }
    assert.equal((await calm.calls(order.orderId)).length, 1);
    await calm.stop();
  });
});

describe('call log', () => {
  it('forgets the oldest tenth when it is full', () => {
    const log = createCallLog(20);

    for (let i = 0; i < 21; i += 1) log.record('charge', `k${i}`, `o${i % 2}`);

    assert.equal(log.list(undefined).length, 19);
    assert.equal(log.list(undefined)[0]?.key, 'k2');
    assert.ok(log.list('o1').every(({ orderId }) => orderId === 'o1'));
  });
});
