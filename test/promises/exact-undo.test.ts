import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { impatientStack, sharedStack } from '../support/stack.js';
import type { RunningStack, ServiceProbe } from '../support/stack.js';
import { until } from '../support/until.js';

const ORDER = { userId: 'u1', amount: 1_000 };
const SOLD_OUT = { ...ORDER, items: [{ sku: 'SOLD-OUT', quantity: 1 }] };

describe('promise: a step that fails is undone exactly', () => {
  let stack: RunningStack;
  let impatient: RunningStack;

  before(async function () {
    this.timeout(180_000); // builds, downloads and starts two stacks on a fresh machine
    [stack, impatient] = await Promise.all([sharedStack(), impatientStack()]);
  });

  afterEach(async () => {
    for (const { payment, inventory } of [stack, impatient]) {
      await Promise.all([payment.faults([]), inventory.faults([])]);
    }
  });

  it('refunds the charge once when the goods are sold out', async () => {
    const key = randomUUID();
    const answer = await stack.post(SOLD_OUT, { key });
    const again = await stack.post(SOLD_OUT, { key });

    assert.equal(answer.status, 422);
    assert.equal(answer.json['type'], '/problems/out-of-stock');
    assert.deepEqual([again.status, again.text], [422, answer.text]);
    assert.equal(again.headers.get('idempotent-replayed'), 'true');
    const orderId = String(answer.json['orderId']);
    assert.deepEqual(
      (await stack.payment.ledger(orderId)).map(({ kind, key: keyOf, amount }) => [
        kind,
        keyOf,
        amount,
      ]),
      [
        ['charge', `${orderId}:pay`, 1_000],
        ['refund', `${orderId}:comp:pay`, 1_000],
      ],
    );
    assert.deepEqual(await stack.inventory.kinds(orderId), []);
  });

  it('neither refunds nor reserves for a payment that was declined', async () => {
    const answer = await stack.post({ ...ORDER, paymentMethod: 'pm_declined' });

    assert.equal(answer.status, 402);
    const orderId = String(answer.json['orderId']);
    assert.deepEqual(await callsOf(stack, orderId), ['charge']);
    assert.deepEqual(await stack.payment.kinds(orderId), []);
    assert.deepEqual(await stack.inventory.kinds(orderId), []);
  });

  it('refunds once when the refund runs twice, and says that it skipped one', async () => {
    // The first refund takes effect and its answer is lost, so the undo runs again.
    await stack.payment.faults([{ operation: 'refund', fault: 'drop-after', times: 1 }]);

    const answer = await stack.post(SOLD_OUT);

    assert.equal(answer.status, 422);
    const orderId = String(answer.json['orderId']);
    assert.deepEqual(await callsOf(stack, orderId), ['charge', 'refund', 'refund', 'reserve']);
    assert.deepEqual(await stack.payment.kinds(orderId), ['charge', 'refund']);
    const log = await stack.log('worker');
    const line = log.split('\n').find((one) => one.includes(`${orderId}:comp:pay`));
    assert.match(line ?? '', /refund skipped \(already compensated\)/);
  });

  for (const operation of ['charge', 'reserve', 'refund', 'release'] as const) {
    for (const fault of ['error-before', 'drop-before', 'drop-after', 'delay-after'] as const) {
      it(`has one effect of ${operation} under ${fault}`, async () => {
        const service = serviceOf(operation);
        const isUndo = operation === 'refund' || operation === 'release';
        await service.faults([{ operation, fault, times: 2, delayMs: 1_200 }]);
        // A release needs a reservation that was made and could not be confirmed in time.
        if (operation === 'release') {
          await service.faults([
            { operation: 'reserve', fault: 'drop-after' },
            { operation, fault, times: 2, delayMs: 1_200 },
          ]);
        }

        const answer = await impatient.post(operation === 'refund' ? SOLD_OUT : ORDER, {
          headers: { prefer: 'wait=25' },
        });

        const orderId = String(answer.json['orderId']);
        assert.equal(
          answer.status,
          { charge: 201, reserve: 201, refund: 422, release: 502 }[operation],
        );
        assert.deepEqual(
          await impatient.payment.kinds(orderId),
          isUndo ? ['charge', 'refund'] : ['charge'],
        );
        assert.deepEqual(
          await impatient.inventory.kinds(orderId),
          {
            charge: ['reserve'],
            reserve: ['reserve'],
            refund: [],
            release: ['reserve', 'release'],
          }[operation],
        );
        const calls = (await service.calls(orderId)).filter((call) => call.operation === operation);
        assert.ok(calls.length >= 2, 'the call was repeated');
        assert.equal(new Set(calls.map(({ key }) => key)).size, 1);
      });
    }
  }

  for (const operation of ['charge', 'reserve'] as const) {
    it(`undoes an order whose ${operation} never gets through, and says that it is final`, async () => {
      await serviceOf(operation).faults([{ operation, fault: 'error-before' }]);

      const answer = await impatient.post(ORDER, { headers: { prefer: 'wait=25' } });

      const slug = operation === 'charge' ? 'payment-unavailable' : 'inventory-unavailable';
      assert.equal(answer.status, 502);
      assert.equal(answer.json['type'], `/problems/${slug}`);
      assert.equal(answer.json['final'], true);
      assert.equal(answer.headers.get('retry-after'), null);
      assert.deepEqual(
        await impatient.payment.kinds(String(answer.json['orderId'])),
        operation === 'charge' ? ['void'] : ['charge', 'refund'],
      );
    });

    it(`refuses a ${operation} that arrives after its undo`, async () => {
      const service = serviceOf(operation);
      await service.faults([{ operation, fault: 'hold' }]);
      const answer = await impatient.post(ORDER, { headers: { prefer: 'wait=25' } });
      const orderId = String(answer.json['orderId']);
      assert.equal(answer.status, 502);

      const released = await service.release();

      assert.ok(released >= 2, 'the local attempt and the regular one were held');
      const late = (await service.calls(orderId)).filter((call) => call.operation === operation);
      assert.deepEqual(
        new Set(late.map(({ status, effect }) => `${status} ${effect}`)),
        new Set(['409 false']),
      );
      assert.deepEqual(await service.kinds(orderId), ['void']);
      const document = await impatient.get(`/orders/${orderId}`);
      assert.equal(document.json['status'], 'cancelled');
    });
  }

  it('stays open, and shows it, while an undo fails, and ends when it heals', async () => {
    await impatient.payment.faults([{ operation: 'refund', fault: 'error-before', status: 503 }]);
    const answer = await impatient.post(SOLD_OUT, { headers: { prefer: 'wait=1' } });
    assert.equal(answer.status, 202);
    const path = String(answer.headers.get('location'));
    await until(async () => (await impatient.get(path)).json['status'] === 'compensating');

    await impatient.payment.faults([]);

    await until(async () => (await impatient.get(path)).json['status'] === 'cancelled');
    const orderId = String(answer.json['orderId']);
    assert.deepEqual(await impatient.payment.kinds(orderId), ['charge', 'refund']);
  });

  function serviceOf(operation: 'charge' | 'refund' | 'reserve' | 'release'): ServiceProbe {
    return operation === 'charge' || operation === 'refund'
      ? impatient.payment
      : impatient.inventory;
  }
});

async function callsOf({ payment, inventory }: RunningStack, orderId: string): Promise<string[]> {
  const calls = await Promise.all([payment.calls(orderId), inventory.calls(orderId)]);
  return calls.flat().map(({ operation }) => operation);
}
