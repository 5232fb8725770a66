import assert from 'node:assert/strict';
import { stepKeys } from '../../src/domain/keys.js';
import { answerOf } from '../../src/domain/outcome.js';
import type { CancelReason, OrderOutcome } from '../../src/domain/outcome.js';
import { STEP_NAMES } from '../../src/domain/step-table.js';
import type { Order, StepRecord, StepState } from '../../src/domain/order.js';
import { orderInsert } from '../../src/store/order-rows.js';
import { createOrderStore } from '../../src/store/orders.js';
import type { OrderStore } from '../../src/store/orders.js';
import { anInput, anOrder, workflowIdOf } from '../support/orders.js';
import { createDatabase } from '../support/postgres.js';
import type { TestDatabase } from '../support/postgres.js';

const CONFIRMED: OrderOutcome = { answerVersion: 1, status: 'confirmed' };
const cancelled = (reason: CancelReason): OrderOutcome => ({
  answerVersion: 1,
  status: 'cancelled',
  reason,
});

describe('order store', () => {
  let database: TestDatabase;
  let orders: OrderStore;

  before(async () => {
    database = await createDatabase('orders');
    orders = createOrderStore(database.pool);
  });
  after(() => database.drop());

  describe('decides once:', () => {
    it('keeps an order that is confirmed first, and changes nothing for who undoes second', async () => {
      const order = await claimed();

      assert.deepEqual(await save(order, CONFIRMED), { decision: 'keep' });
      assert.deepEqual(await decideToUndo(order, 'order-cancelled'), { decision: 'keep' });

      assert.equal((await orders.read('demo', order.orderId))?.status, 'confirmed');
    });

    it('undoes an order that is undone first, and saves no confirmation for who comes second', async () => {
      const order = await claimed();
      const undo = { decision: 'undo', reason: 'order-cancelled' };

      assert.deepEqual(await decideToUndo(order, 'order-cancelled'), undo);
      assert.deepEqual(await save(order, CONFIRMED), undo);

      assert.equal((await orders.read('demo', order.orderId))?.status, 'compensating');
      assert.equal((await claimOf(order)).status, 'processing');
    });

    it('keeps the reason of who decided first', async () => {
      const order = await claimed();

      await decideToUndo(order, 'out-of-stock');

      assert.deepEqual(await decideToUndo(order, 'order-cancelled'), {
        decision: 'undo',
        reason: 'out-of-stock',
      });
    });

    it('lets one of many that confirm and undo at once win, and tells it to all', async () => {
      const results = await Promise.all(
        Array.from({ length: 40 }, async () => {
          const order = await claimed();
          const decisions = await Promise.all([
            save(order, CONFIRMED),
            decideToUndo(order, 'order-cancelled'),
            save(order, CONFIRMED),
            decideToUndo(order, 'order-cancelled'),
          ]);
          const row = await orders.read('demo', order.orderId);
          assert.deepEqual(
            new Set(decisions.map(({ decision }) => decision)),
            new Set([row?.decision]),
          );
          assert.equal((await claimOf(order)).status === 'completed', row?.decision === 'keep');
          return row?.decision;
        }),
      );

      assert.equal(results.length, 40);
    });
  });

  describe('saves an outcome:', () => {
    it('completes claim and order in one statement, with the answer that goes over the wire', async () => {
      const order = await claimed();

      await save(order, CONFIRMED, 3_600);

      const answer = answerOf(CONFIRMED, order.orderId, workflowIdOf(order));
      const claim = await claimOf(order);
      assert.equal(claim.status, 'completed');
      assert.equal(claim.answer_status, 201);
      assert.deepEqual(claim.answer_headers, answer.headers);
      assert.equal(claim.answer_body, answer.body);
      assert.equal(claim.expires_at.getTime() - claim.completed_at.getTime(), 3_600_000);
    });

    it('changes no answer that was saved before', async () => {
      const order = await claimed();
      await decideToUndo(order, 'out-of-stock');
      await save(order, cancelled('out-of-stock'));
      const first = await claimOf(order);

      await save(order, cancelled('order-cancelled'));

      assert.deepEqual(await claimOf(order), first);
      assert.equal((await orders.read('demo', order.orderId))?.reason, 'out-of-stock');
    });

    it('says that an operator resolved an undo, whatever the reason was at first', async () => {
      const order = await claimed();
      await decideToUndo(order, 'out-of-stock');

      await save(order, cancelled('resolved-by-operator'));

      const row = await orders.read('demo', order.orderId);
      assert.deepEqual([row?.status, row?.reason], ['cancelled', 'resolved-by-operator']);
      assert.match((await claimOf(order)).answer_body, /order-cancelled/);
    });

    it('writes lost rows anew, without the user and the raw key that the workflow never knew', async () => {
      const order = anOrder();

      await save(order, CONFIRMED);

      assert.equal((await orders.read('demo', order.orderId))?.userId, null);
      assert.equal((await claimOf(order)).idempotency_key, null);
    });

    it('turns a claim that names another, unused order to the one of the workflow', async () => {
      const order = anOrder();
      const unused = await claimed(anOrder(), order);

      await save(order, CONFIRMED);

      assert.equal((await claimOf(order)).resource_id, order.orderId);
      assert.equal(await orders.read('demo', unused.orderId), undefined);
    });
  });

  it('shows that a person is needed, but not once the order has ended', async () => {
    const order = await claimed();
    await decideToUndo(order, 'out-of-stock');
    const workflowId = workflowIdOf(order);
    const steps = stepsOf(order, 'unknown');
    const state = { order, workflowId, steps, undoneBy: workflowId };

    await orders.recordAttention(state);
    const open = await orders.read('demo', order.orderId);
    await save(order, cancelled('out-of-stock'));
    await orders.recordAttention(state);
    const ended = await orders.read('demo', order.orderId);

    assert.equal(open?.status, 'needs_attention');
    assert.deepEqual(open.steps, state.steps);
    assert.equal(ended?.status, 'cancelled');
  });

  it('shows no tenant the order of another', async () => {
    const order = await claimed();

    assert.equal(await orders.read('other', order.orderId), undefined);
    assert.deepEqual((await orders.read('demo', order.orderId))?.order, order);
  });

  /** Writes claim and order as the API does; the claim belongs to the workflow of `workflowOf`. */
  async function claimed(order = anOrder(), workflowOf = order): Promise<Order> {
    const { claim } = anInput(workflowOf);
    const workflowId = workflowIdOf(workflowOf);
    const companion = orderInsert(order, workflowId, 'u1');
    await database.pool.query(
      `with claim as (insert into claims (tenant, scope, key_digest, request_hash, resource_id, workflow_id)
         values ($1, $2, $3, $4, $5, $6) returning 1)
       ${companion.sql(7)}`,
      [
        order.tenant,
        claim.scope,
        claim.keyDigest,
        claim.requestHash,
        order.orderId,
        workflowId,
        ...companion.values,
      ],
    );
    return order;
  }

  function decideToUndo(order: Order, reason: CancelReason) {
    const steps = stepsOf(order, 'unknown');
    const workflowId = workflowIdOf(order);
    return orders.decideToUndo({ order, workflowId, steps, undoneBy: workflowId }, reason);
  }

  function save(order: Order, outcome: OrderOutcome, claimTtlSeconds = 86_400) {
    return orders.saveOutcome({
      order,
      workflowId: workflowIdOf(order),
      steps: stepsOf(order, 'done'),
      claim: anInput(order).claim,
      claimTtlSeconds,
      outcome,
    });
  }

  interface ClaimRow {
    readonly status: string;
    readonly resource_id: string;
    readonly idempotency_key: string | null;
    readonly answer_status: number;
    readonly answer_headers: Record<string, string>;
    readonly answer_body: string;
    readonly completed_at: Date;
    readonly expires_at: Date;
  }

  async function claimOf(order: Order): Promise<ClaimRow> {
    const { rows } = await database.pool.query<ClaimRow>(
      'select * from claims where key_digest = $1',
      [anInput(order).claim.keyDigest],
    );
    assert.equal(rows.length, 1);
    return rows[0]!;
  }
});

function stepsOf(order: Order, state: StepState): StepRecord[] {
  const keys = stepKeys(order.orderId);
  return STEP_NAMES.map((name) => ({ name, ...keys[name], state, compensationState: 'none' }));
}
