import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { heal } from '../support/heal.js';
import { ended, held } from '../support/money.js';
import { resetTo, resetToStart } from '../support/reset.js';
import { impatientStack } from '../support/stack.js';
import type { RunningStack, WireAnswer } from '../support/stack.js';
import { until } from '../support/until.js';

const ORDER = { userId: 'u1', amount: 1_000 };
const ASYNC = { prefer: 'respond-async' };
const NOTHING = { money: 0, reservations: 0 };
const ALL = { money: 1_000, reservations: 1 };

describe('promise: nothing stays half done', () => {
  let stack: RunningStack;

  before(async function () {
    this.timeout(180_000); // builds, downloads and starts on a fresh machine
    stack = await impatientStack();
  });
  afterEach(() => heal(stack));

  /** An order whose step is held: its workflow is in the middle of it. */
  async function orderHeldAt(operation: 'charge' | 'reserve', key = randomUUID()) {
    const service = operation === 'charge' ? stack.payment : stack.inventory;
    await service.faults([{ operation, fault: 'hold' }]);
    const accepted = await stack.post(ORDER, { key, headers: ASYNC });
    const orderId = String(accepted.json['orderId']);
    await until(async () => (await service.calls(orderId)).length > 0);
    return { accepted, orderId, key, service };
  }

  const workflowOf = ({ json }: WireAnswer) =>
    stack.temporal.workflow.getHandle(String(json['sagaId']));

  for (const operation of ['charge', 'reserve'] as const) {
    it(`undoes an order that is terminated while its ${operation} is under way, with no one's help`, async () => {
      const { accepted, orderId, key, service } = await orderHeldAt(operation);

      await workflowOf(accepted).terminate('by an operator');
      const status = await ended(stack, orderId);
      await service.release();

      assert.equal(status, 'cancelled');
      assert.deepEqual(await held(stack, orderId), NOTHING);
      const answer = await stack.post(ORDER, { key });
      assert.deepEqual(
        [answer.status, answer.json['type'], answer.headers.get('idempotent-replayed')],
        [422, '/problems/order-cancelled', 'true'],
      );
    });
  }

  it('repairs a terminated order at the next request of its client', async () => {
    const { accepted, orderId, key } = await orderHeldAt('charge');
    await workflowOf(accepted).terminate('by an operator');

    const answer = await stack.post(ORDER, { key, headers: { prefer: 'wait=20' } });

    assert.equal(answer.status, 422);
    assert.equal(answer.json['orderId'], orderId);
    assert.deepEqual(await held(stack, orderId), NOTHING);
  });

  it('starts an order again whose workflow was deleted, and charges once', async () => {
    const { accepted, orderId } = await orderHeldAt('reserve');
    const { sagaId } = accepted.json;

    await stack.temporal.workflowService.deleteWorkflowExecution({
      namespace: stack.temporal.options.namespace,
      workflowExecution: { workflowId: String(sagaId) },
    });
    await stack.inventory.faults([]);

    assert.equal(await ended(stack, orderId), 'confirmed');
    assert.deepEqual(await held(stack, orderId), ALL);
    assert.deepEqual(await stack.payment.kinds(orderId), ['charge']);
  });

  it('starts an order that was claimed and never started', async () => {
    const key = randomUUID();
    const refused = await stack.whileTemporalStands(() => stack.post(ORDER, { key }));
    assert.equal(refused.status, 503);

    const orderId = String(refused.json['orderId']);

    assert.equal(await ended(stack, orderId), 'confirmed');
    assert.deepEqual(await held(stack, orderId), ALL);
  });

  it('writes the rows anew that Postgres has lost', async () => {
    const keys = Array.from({ length: 10 }, () => randomUUID());
    const answers = await Promise.all(keys.map((key) => stack.post(ORDER, { key })));
    const ids = answers.map(({ json }) => String(json['orderId']));
    // As a backup would be that was made ten orders ago.
    await stack.ordersPool.query('delete from orders where order_id = any($1)', [ids]);
    await stack.ordersPool.query('delete from claims where resource_id = any($1)', [ids]);

    for (const orderId of ids) assert.equal(await ended(stack, orderId), 'confirmed');

    const again = await Promise.all(keys.map((key) => stack.post(ORDER, { key })));
    assert.deepEqual(
      again.map(({ text }) => text),
      answers.map(({ text }) => text),
    );
    for (const orderId of ids) assert.deepEqual(await held(stack, orderId), ALL);
  });

  it('neither confirms a refunded order nor refunds a confirmed one when workflows are reset', async () => {
    const confirmed = await stack.post(ORDER);
    const sold = await stack.post({ ...ORDER, items: [{ sku: 'SOLD-OUT', quantity: 1 }] });
    assert.deepEqual([confirmed.status, sold.status], [201, 422]);

    for (const answer of [confirmed, sold]) {
      await resetToStart(stack.temporal, workflowOf(answer).workflowId);
      await workflowOf(answer).result();
    }

    assert.deepEqual(await held(stack, String(confirmed.json['orderId'])), ALL);
    assert.deepEqual(await held(stack, String(sold.json['orderId'])), NOTHING);
    assert.equal(await ended(stack, String(confirmed.json['orderId'])), 'confirmed');
    assert.equal(await ended(stack, String(sold.json['orderId'])), 'cancelled');
  });

  for (const moment of ['before', 'after'] as const) {
    it(`refunds once when an order is reset to each of its events, ${moment} its refund`, async () => {
      const isBefore = moment === 'before';
      const [fault, other] = isBefore ? ['error-before', 503] : ['drop-after', undefined];
      await stack.payment.faults([{ operation: 'refund', fault, ...(other && { status: other }) }]);
      const body = { ...ORDER, items: [{ sku: 'SOLD-OUT', quantity: 1 }] };
      const key = randomUUID();
      const accepted = await stack.post(body, { key, headers: ASYNC });
      const orderId = String(accepted.json['orderId']);
      await until(async () =>
        (await stack.payment.calls(orderId)).some(
          ({ operation, status }) => operation === 'refund' && (!isBefore || status === 503),
        ),
      );
      const { workflowId } = workflowOf(accepted);

      // Newest first: each reset makes a run that has gone through fewer of the events.
      let left = Number.POSITIVE_INFINITY;
      while (left > 0) {
        await resetTo(stack.temporal, workflowId, (points) => {
          left = Math.min(left, points.length) - 1;
          return points[left];
        });
      }
      await stack.payment.faults([]);

      assert.equal(await ended(stack, orderId), 'cancelled');
      assert.deepEqual(await stack.payment.kinds(orderId), ['charge', 'refund']);
      assert.deepEqual(await held(stack, orderId), NOTHING);
      assert.equal((await stack.post(body, { key })).json['type'], '/problems/out-of-stock');
    });
  }

  it('ends an order in one way when it is terminated while its confirming commit is held', async () => {
    const { accepted, orderId, key, service } = await orderHeldAt('reserve');
    await whileRowIsLocked(orderId, async () => {
      await service.faults([]);
      await service.release();
      await until(async () => (await waiters('insert into claims')) > 0);
      await workflowOf(accepted).terminate('by an operator');
      // The client's retry starts the repair, whose decision stands in line behind the commit.
      await stack.post(ORDER, { key, headers: ASYNC });
      await until(async () => (await waiters("'compensating', 'undo'")) > 0);
    });

    const { status } = await stack.temporal.workflow
      .getHandle(`repair-${orderId}`)
      .result()
      .then((result) => result as { readonly status: string });
    const answer = await stack.post(ORDER, { key });
    assert.equal(await ended(stack, orderId), status);
    assert.equal(answer.status, status === 'confirmed' ? 201 : 422);
    assert.deepEqual(await held(stack, orderId), status === 'confirmed' ? ALL : NOTHING);
  }).timeout(60_000);

  it('heals an order once that its client and two reconcilers take up at the same moment', async () => {
    const terminated = await Promise.all(
      Array.from({ length: 3 }, async () => {
        const { accepted, orderId, key } = await orderHeldAt('reserve');
        await workflowOf(accepted).terminate('by an operator');
        return { orderId, key };
      }),
    );
    await stack.inventory.faults([]);
    const unstarted = await stack.whileTemporalStands(() =>
      Promise.all(Array.from({ length: 3 }, () => claimOnly())),
    );
    const orders = [...unstarted, ...terminated];

    let reconcilers = 0;
    const answers = await Promise.all(
      orders.map(async ({ key }) => {
        let answer: WireAnswer;
        do {
          const rounds = [1, 2].map(() =>
            stack.temporal.workflow.execute('reconcileOrders', {
              workflowId: `reconcile-${randomUUID()}`,
              taskQueue: 'orders',
            }),
          );
          reconcilers += rounds.length;
          answer = await stack.post(ORDER, { key, headers: { prefer: 'wait=2' } });
          await Promise.all(rounds);
        } while (answer.status === 202);
        return answer;
      }),
    );

    assert.ok(reconcilers >= 2 * orders.length);
    assert.deepEqual(
      answers.map(({ status }) => status),
      [...unstarted.map(() => 201), ...terminated.map(() => 422)],
    );
    for (const { orderId } of unstarted) {
      assert.deepEqual(await stack.payment.kinds(orderId), ['charge']);
      assert.deepEqual(await held(stack, orderId), ALL);
    }
    for (const { orderId } of terminated) {
      assert.deepEqual(await stack.payment.kinds(orderId), ['charge', 'refund']);
      assert.deepEqual(await held(stack, orderId), NOTHING);
    }
  }).timeout(60_000);

  /** An order that is claimed while Temporal can not take it. */
  async function claimOnly() {
    const key = randomUUID();
    const { json } = await stack.post(ORDER, { key });
    return { key, orderId: String(json['orderId']) };
  }

  /** Holds up whoever would write to the order's row. */
  async function whileRowIsLocked(orderId: string, act: () => Promise<void>): Promise<void> {
    const connection = await stack.ordersPool.connect();
    try {
      await connection.query('begin');
      await connection.query('select from orders where order_id = $1 for update', [orderId]);
      await act();
    } finally {
      await connection.query('rollback');
      connection.release();
    }
  }

  /** How many sessions wait for a lock with a statement that has these words. */
  async function waiters(words: string): Promise<number> {
    const { rows } = await stack.ordersPool.query(
      `select from pg_stat_activity where wait_event_type = 'Lock' and strpos(query, $1) > 0`,
      [words],
    );
    return rows.length;
  }
});
