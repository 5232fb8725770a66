import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mintOrderId } from '../../src/api/order-id.js';
import { digestOf, workflowIdFor } from '../../src/api/idempotency/key.js';
import { lookUp } from '../../src/api/idempotency/start-once.js';
import { resetToStart } from '../support/reset.js';
import { A_BODY, startApi } from './stack.js';
import type { ApiAnswer, ApiStack } from './stack.js';

const OTHER_BODY = { ...A_BODY, amount: 2000 };
const ASYNC = { prefer: 'respond-async' };

const workflowIdOf = (key: string): string =>
  workflowIdFor('order-', { tenant: 'tenant-a', scope: 'POST:/orders', key });

/** What a client sees of a final answer. */
const seen = ({ status, body, headers }: ApiAnswer) => ({
  status,
  body,
  location: headers['location'],
});

describe('a claim that lost its way', () => {
  let api: ApiStack;
  /** Its worker is never started: its orders stay open. */
  let idle: ApiStack;

  before(async () => {
    [api, idle] = await Promise.all([startApi(), startApi({ config: { waitSeconds: 0 } })]);
    await api.startWorker();
  });
  after(() => Promise.all([api.stop(), idle.stop()]));

  const rowsOf = async (stack: ApiStack, key: string) => {
    const { rows } = await stack.database.pool.query<{
      claim: string | null;
      order: string | null;
    }>(
      `select claims.resource_id as claim, orders.order_id as order
       from (select * from claims where key_digest = $1) claims
       full join (select * from orders where workflow_id = $2) orders on orders.order_id = claims.resource_id`,
      [digestOf(key), workflowIdOf(key)],
    );
    return rows;
  };

  const forgetRows = (stack: ApiStack, key: string) =>
    stack.database.pool.query(
      `with claim as (delete from claims where key_digest = $1) delete from orders where workflow_id = $2`,
      [digestOf(key), workflowIdOf(key)],
    );

  /** The API died between the claim and the start: its row is there, its workflow is not. */
  async function claimOnly(stack: ApiStack, key: string): Promise<string> {
    const donor = randomUUID();
    const other = await idle.post({ key: donor, headers: ASYNC });
    const { rows } = await idle.database.pool.query<{ request_hash: string }>(
      'select request_hash from claims where key_digest = $1',
      [digestOf(donor)],
    );
    assert.equal(other.status, 202);
    const orderId = mintOrderId();
    await stack.database.pool.query(
      `insert into claims (tenant, scope, key_digest, idempotency_key, request_hash, resource_id, workflow_id)
       values ('tenant-a', 'POST:/orders', $1, $2, $3, $4, $5)`,
      [digestOf(key), key, rows[0]?.request_hash, orderId, workflowIdOf(key)],
    );
    await stack.database.pool.query(
      `insert into orders (order_id, tenant, workflow_id, user_id, amount_minor, currency, items, payment_method)
       values ($1, 'tenant-a', $2, 'u1', 1000, 'JPY', '[{"sku":"AS-STORED","quantity":1}]', 'pm_ok')`,
      [orderId, workflowIdOf(key)],
    );
    return orderId;
  }

  it('is started by the next request, which is answered like a first one', async () => {
    const key = randomUUID();
    const orderId = await claimOnly(api, key);

    const answer = await api.post({ key });

    assert.equal(answer.status, 201);
    assert.equal(answer.json['orderId'], orderId);
    assert.equal(answer.headers['idempotent-replayed'], undefined);
  });

  it('is started with the request that was stored, not with that of the retry', async () => {
    const key = randomUUID();
    await claimOnly(api, key);

    const answer = await api.post({ key });

    const order = await api.get(answer.headers['location']!);
    assert.deepEqual(order.json['items'], [{ sku: 'AS-STORED', quantity: 1 }]);
  });

  it('is started once by ten requests at a time', async () => {
    const key = randomUUID();
    await claimOnly(api, key);

    const answers = await Promise.all(
      Array.from({ length: 10 }, () => api.post({ key, headers: { prefer: 'wait=20' } })),
    );

    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([201]));
    assert.equal(new Set(answers.map(({ body }) => body)).size, 1);
    const first = answers.filter(({ headers }) => headers['idempotent-replayed'] === undefined);
    assert.equal(first.length, 1);
  });

  it('still refuses another body before it is started', async () => {
    const key = randomUUID();
    await claimOnly(api, key);

    const answer = await api.post({ key, body: OTHER_BODY });

    assert.equal(answer.json['type'], '/problems/idempotency-key-reused');
    assert.equal((await api.post({ key })).status, 201);
  });

  it('whose rows are lost is found again by its workflow, running', async () => {
    const key = randomUUID();
    const first = await idle.post({ key });
    await forgetRows(idle, key);

    const again = await idle.post({ key });
    const patient = await idle.post({ key, headers: ASYNC });

    assert.equal(first.status, 202);
    assert.equal(again.json['type'], '/problems/request-in-progress');
    assert.equal(again.headers['location'], first.headers['location']);
    assert.deepEqual(seen(patient), seen(first));
    const orderId = first.json['orderId'];
    assert.deepEqual(await rowsOf(idle, key), [{ claim: orderId, order: orderId }]);
    assert.equal((await idle.get(first.headers['location']!)).json['userId'], 'u1');
  });

  it('whose rows are lost is found again by its workflow, closed, with the same bytes', async () => {
    const key = randomUUID();
    const body = { ...A_BODY, paymentMethod: 'pm_declined' };
    const first = await api.post({ key, body });
    // Closed, which comes after the answer.
    await api.client.workflow.result(workflowIdOf(key));
    await forgetRows(api, key);

    const again = await api.post({ key, body });

    assert.equal(first.status, 402);
    assert.deepEqual(seen(again), seen(first));
    assert.equal(again.headers['idempotent-replayed'], 'true');
    assert.deepEqual(seen(await api.post({ key, body })), seen(first));
    const orderId = first.json['orderId'];
    assert.deepEqual(await rowsOf(api, key), [{ claim: orderId, order: orderId }]);
    const order = await api.get(first.headers['location']!);
    assert.equal(order.json['status'], 'cancelled');
    assert.equal(order.json['reason'], 'payment-declined');
    assert.equal(order.json['userId'], 'u1');
  });

  for (const state of ['running', 'closed'] as const) {
    it(`whose rows are lost lets no other body in while its workflow is ${state}`, async () => {
      const stack = state === 'running' ? idle : api;
      const key = randomUUID();
      await stack.post({ key });
      if (state === 'closed') await stack.client.workflow.result(workflowIdOf(key));
      await forgetRows(stack, key);

      const other = await stack.post({ key, body: OTHER_BODY });

      assert.equal(other.json['type'], '/problems/idempotency-key-reused');
      assert.deepEqual(await rowsOf(stack, key), [], 'the refusal leaves nothing');
    });
  }

  it('is won back by the request of its workflow from another that took the lost row', async () => {
    const key = randomUUID();
    const first = await idle.post({ key });
    const wrongOrder = await (async () => {
      await forgetRows(idle, key);
      const orderId = await claimOnly(idle, key);
      await idle.database.pool.query('update claims set request_hash = $2 where key_digest = $1', [
        digestOf(key),
        '0'.repeat(64),
      ]);
      return orderId;
    })();

    const again = await idle.post({ key, headers: ASYNC });

    assert.deepEqual(seen(again), seen(first));
    const orderId = first.json['orderId'];
    assert.deepEqual(await rowsOf(idle, key), [{ claim: orderId, order: orderId }]);
    assert.notEqual(orderId, wrongOrder);
  });

  it('past its expiry replays as long as Temporal remembers the workflow', async () => {
    const key = randomUUID();
    const first = await api.post({ key });
    await api.database.pool.query(
      `update claims set expires_at = now() - interval '1 second' where key_digest = $1`,
      [digestOf(key)],
    );

    const other = await api.post({ key, body: OTHER_BODY });
    const again = await api.post({ key });

    assert.equal(other.json['type'], '/problems/idempotency-key-reused');
    assert.deepEqual(seen(again), seen(first));
    const orderId = first.json['orderId'];
    assert.deepEqual(await rowsOf(api, key), [{ claim: orderId, order: orderId }]);
  });

  for (const ends of ['undone', 'confirmed'] as const) {
    it(`past its expiry replays an order that was ${ends} when its workflow was terminated`, async () => {
      const key = randomUUID();
      const body = { ...A_BODY, ...(ends === 'undone' && { paymentMethod: 'pm_hold' }) };
      const post = () => api.post({ key, body, headers: { prefer: 'wait=20' } });
      const started = await api.post({ key, body, headers: ASYNC });
      if (ends === 'confirmed') await post();
      const handle = api.client.workflow.getHandle(workflowIdOf(key));
      if (ends === 'undone') await handle.terminate();
      // The answer comes before the workflow is closed, and a task that is under way can't be reset to.
      else await handle.result();
      // A reset run that is terminated leaves a confirmed order without a workflow that says so.
      if (ends === 'confirmed') await terminateReset(key);
      const first = await post();
      await api.database.pool.query(
        `update claims set expires_at = now() - interval '1 second' where key_digest = $1`,
        [digestOf(key)],
      );

      const again = await api.post({ key, body });

      assert.equal(first.status, ends === 'undone' ? 422 : 201);
      assert.deepEqual(seen(again), seen(first));
      assert.equal(again.headers['idempotent-replayed'], 'true');
      const { orderId } = started.json;
      assert.deepEqual(await rowsOf(api, key), [{ claim: orderId, order: orderId }]);
    }).timeout(60_000);
  }

  async function terminateReset(key: string): Promise<void> {
    const workflowId = workflowIdOf(key);
    await resetToStart(api.client, workflowId);
    await api.client.workflow.getHandle(workflowId).terminate();
  }

  it('past its expiry is a new order where Temporal has forgotten the workflow', async () => {
    const key = randomUUID();
    const first = await api.post({ key });
    await api.database.pool.query(
      `update claims set expires_at = now() - interval '1 second' where key_digest = $1`,
      [digestOf(key)],
    );
    // Closed, which comes after the answer: the deletion of a running one takes as long as it likes.
    await api.client.workflow.result(workflowIdOf(key));
    const workflowExecution = { workflowId: workflowIdOf(key) };
    await api.client.workflowService.deleteWorkflowExecution({
      namespace: 'default',
      workflowExecution,
    });
    while ((await lookUp(api.client, workflowIdOf(key))).kind !== 'unknown');

    const again = await api.post({ key });

    assert.equal(again.status, 201);
    assert.notEqual(again.json['orderId'], first.json['orderId']);
    assert.equal(again.headers['idempotent-replayed'], undefined);
  }).timeout(60_000);

  it('whose workflow was terminated is answered as still running', async () => {
    const key = randomUUID();
    const first = await idle.post({ key });
    await idle.client.workflow.getHandle(workflowIdOf(key)).terminate();

    const plain = await idle.post({ key });
    const patient = await idle.post({ key, headers: { prefer: 'wait=2' } });

    assert.equal(plain.json['type'], '/problems/request-in-progress');
    assert.deepEqual(seen(patient), seen(first));
    assert.equal((await lookUp(idle.client, workflowIdOf(key))).kind, 'closed-without-result');
  });

  it('answers 202 after the wait when the workflow was terminated meanwhile', async () => {
    const key = randomUUID();
    const waiting = idle.post({ key, headers: { prefer: 'wait=2' } });
    while ((await lookUp(idle.client, workflowIdOf(key))).kind === 'unknown');

    await idle.client.workflow.getHandle(workflowIdOf(key)).terminate();

    assert.equal((await waiting).status, 202);
  });
});
