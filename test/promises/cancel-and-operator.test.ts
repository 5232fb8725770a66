import assert from 'node:assert/strict';
import { heal } from '../support/heal.js';
import { ended, held } from '../support/money.js';
import { impatientStack } from '../support/stack.js';
import type { RunningStack } from '../support/stack.js';
import { until } from '../support/until.js';

const ORDER = { userId: 'u1', amount: 1_000 };
const SOLD_OUT = { ...ORDER, items: [{ sku: 'SOLD-OUT', quantity: 1 }] };
const ASYNC = { prefer: 'respond-async' };
const NOTHING = { money: 0, reservations: 0 };
const OPS = 'ops-token';

interface StepView {
  readonly name: string;
  readonly compensationState: string;
  readonly interventions?: readonly {
    readonly action: string;
    readonly who: string;
    readonly why: string;
  }[];
}

describe('promise: an order can be called off, and a stuck undo ended by a person', () => {
  let stack: RunningStack;

  before(async function () {
    this.timeout(180_000); // builds, downloads and starts on a fresh machine
    stack = await impatientStack();
  });
  afterEach(() => heal(stack));

  for (const operation of ['charge', 'reserve'] as const) {
    it(`cancels an order whose ${operation} is under way, twice as well as once`, async () => {
      const service = operation === 'charge' ? stack.payment : stack.inventory;
      await service.faults([{ operation, fault: 'hold' }]);
      const accepted = await stack.post(ORDER, { headers: ASYNC });
      const orderId = String(accepted.json['orderId']);
      await until(async () => (await service.calls(orderId)).length >= 2);

      const first = await stack.send(`/orders/${orderId}/cancel`);
      const second = await stack.send(`/orders/${orderId}/cancel`, { body: {} });
      const status = await ended(stack, orderId);
      const third = await stack.send(`/orders/${orderId}/cancel`);

      assert.deepEqual([first.status, second.status, third.status], [202, 202, 202]);
      assert.equal(status, 'cancelled');
      assert.equal((await stack.get(`/orders/${orderId}`)).json['reason'], 'order-cancelled');
      assert.deepEqual(await held(stack, orderId), NOTHING);
    });
  }

  it('refuses to cancel a confirmed order, and the order of another', async () => {
    const { json } = await stack.post(ORDER);
    const path = `/orders/${String(json['orderId'])}/cancel`;

    const late = await stack.send(path);
    const unknown = await stack.send(`/orders/ORD-${'0'.repeat(32)}/cancel`);
    const withBody = await stack.send(path, { body: { because: 'x' } });

    assert.deepEqual([late.status, late.json['type']], [409, '/problems/order-not-cancellable']);
    assert.equal(unknown.status, 404);
    assert.equal(withBody.status, 400);
  });

  it('cancels while Temporal is away, and undoes when it is back', async () => {
    await stack.payment.faults([{ operation: 'charge', fault: 'hold' }]);
    const accepted = await stack.post(ORDER, { headers: ASYNC });
    const orderId = String(accepted.json['orderId']);
    await until(async () => (await stack.payment.calls(orderId)).length > 0);
    const taken = await stack.whileTemporalStands(() => stack.send(`/orders/${orderId}/cancel`));
    assert.equal(taken.status, 202);

    assert.equal(await ended(stack, orderId), 'cancelled');
    assert.deepEqual(await held(stack, orderId), NOTHING);
  }).timeout(60_000);

  it('shows an undo that needs a person, retries it on a word, and says who asked', async () => {
    const orderId = await stuckOrder();
    const command = { step: 'payment', who: 'ada', why: 'the payment service is repaired' };
    assert.deepEqual(await held(stack, orderId), { money: 1_000, reservations: 0 });

    await stack.payment.faults([]);
    const answer = await stack.send(`/orders/${orderId}/undo/retry`, { token: OPS, body: command });

    assert.equal(answer.status, 202);
    assert.equal(await ended(stack, orderId), 'cancelled');
    assert.deepEqual(await held(stack, orderId), NOTHING);
    const { json } = await stack.get(`/orders/${orderId}`, OPS);
    assert.equal(json['reason'], 'out-of-stock');
    const [payment] = json['steps'] as readonly StepView[];
    assert.equal(payment?.compensationState, 'done');
    assert.deepEqual(
      payment.interventions?.map(({ action, who, why }) => [action, who, why]),
      [['retry', 'ada', command.why]],
    );
  }).timeout(60_000);

  it('ends an order whose undo a person has settled, and tells its client', async () => {
    const orderId = await stuckOrder();

    const answer = await stack.send(`/orders/${orderId}/undo/resolve`, {
      token: OPS,
      body: { step: 'payment', why: 'refunded by bank transfer' },
    });

    assert.equal(answer.status, 202);
    assert.equal(await ended(stack, orderId), 'cancelled');
    const { json } = await stack.get(`/orders/${orderId}`);
    assert.equal(json['reason'], 'resolved-by-operator');
    const [payment] = json['steps'] as readonly StepView[];
    assert.equal(payment?.compensationState, 'resolved');
    assert.equal(payment.interventions?.[0]?.who, 'ops');
  }).timeout(60_000);

  it('takes a person at their word only with an operator token, and only for a stuck undo', async () => {
    const { json } = await stack.post(SOLD_OUT);
    const path = `/orders/${String(json['orderId'])}/undo/resolve`;
    const body = { step: 'payment', why: 'because' };

    const asTenant = await stack.send(path, { body });
    const notStuck = await stack.send(path, { token: OPS, body });
    const noReason = await stack.send(path, { token: OPS, body: { step: 'payment' } });

    assert.deepEqual([asTenant.status, notStuck.status, noReason.status], [403, 409, 400]);
  });

  /** An order that was sold out and whose refund fails until it needs a person. */
  async function stuckOrder(): Promise<string> {
    await stack.payment.faults([{ operation: 'refund', fault: 'error-before', status: 400 }]);
    const accepted = await stack.post(SOLD_OUT, { headers: ASYNC });
    const orderId = String(accepted.json['orderId']);
    await until(async () => {
      const { json } = await stack.get(`/orders/${orderId}`);
      return json['status'] === 'needs_attention';
    });
    // What an operator looks for in the Web UI.
    await until(async () => {
      const query = `OrderStatus = 'needs_attention' and OrderId = '${orderId}'`;
      for await (const workflow of stack.temporal.workflow.list({ query })) {
        return workflow.type === 'placeOrder';
      }
      return false;
    });
    return orderId;
  }
});
