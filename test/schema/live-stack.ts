import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startStack } from '../support/stack.js';
import type { RunningStack } from '../support/stack.js';
import { until } from '../support/until.js';
import { runSchemathesis } from './schemathesis.js';
import type { Interaction } from './schemathesis.js';

/** 40 s a seed: most of what it finds it finds in the first half minute. SCHEMA_SECONDS sets another time. */
const MAX_SECONDS = Number(process.env['SCHEMA_SECONDS'] ?? 40);

/** What a run may take beyond its time: it finishes the scenario that it is at, and shrinks what it found. */
const GRACE_SECONDS = 300;

/** One that stays, so that a finding stays as well, and one that is new each time. */
const SEEDS = [20_260_101, randomInt(1, 2 ** 31)];

describe('Schemathesis on a live stack, with all checks', () => {
  let stack: RunningStack;
  let folder: string;
  const interactions: Interaction[] = [];

  before(async function () {
    this.timeout(300_000);
    folder = await mkdtemp(join(tmpdir(), 'order-saga-schema-'));
    stack = await startStack({
      API_KEYS: 'demo:demo-token,other:other-token',
      RATE_LIMIT_PER_MINUTE: '1000000',
      STEP_TIMEOUT_MS: '1000',
      STEP_DEADLINE_MS: '5000',
      ATTENTION_AFTER_SECONDS: '5',
    });
    await placeStuckOrders(stack);
  });
  after(async () => {
    await rm(folder, { recursive: true, force: true });
  });

  for (const seed of SEEDS) {
    it(`finds nothing with seed ${seed} in ${MAX_SECONDS} s`, async function () {
      this.timeout((MAX_SECONDS + GRACE_SECONDS) * 1_000);
      const api = `http://127.0.0.1:${stack.env['PORT'] ?? ''}`;

      const run = await runSchemathesis({ api, seed, maxSeconds: MAX_SECONDS, folder });

      interactions.push(...run.interactions);
      process.stdout.write(`${summaryOf(run.interactions)}\n`);
      assert.equal(run.exitCode, 0, run.output);
      assert.ok(run.interactions.length > 100, run.output);
    });
  }

  it('has got past the door of every operation', () => {
    const entered = new Set(
      interactions
        .filter(({ status }) => ![401, 403, 405].includes(status))
        .map(({ operation }) => kindOf(operation)),
    );

    assert.deepEqual([...entered].sort(), [
      'GET /healthz',
      'GET /metrics',
      'GET /orders',
      'GET /orders/…',
      'GET /orders/…/events',
      'GET /problems/…',
      'GET /readyz',
      'POST /orders',
      'POST /orders/…/cancel',
      'POST /orders/…/undo/resolve',
      'POST /orders/…/undo/retry',
    ]);
  });

  it('leaves nothing behind but the orders that were answered with their address', async () => {
    const named = new Set(
      interactions
        .filter(({ operation }) => operation === 'POST /orders')
        .flatMap(({ orderId }) => orderId ?? []),
    );
    const { rows } = await stack.ordersPool.query<{ id: string }>(
      'select order_id as id from orders',
    );
    const { rows: claims } = await stack.ordersPool.query<{ n: number }>(
      'select count(*)::int as n from claims',
    );
    const orders = new Set(rows.map(({ id }) => id));

    assert.ok(named.size > 0);
    assert.deepEqual([...orders].sort(), [...named, ...stuck].sort());
    assert.equal(claims[0]?.n, orders.size);
    for (const service of [stack.payment, stack.inventory]) {
      const ledger = (await service.json('/ledger')) as unknown as { orderId: string }[];
      assert.deepEqual(
        ledger.filter(({ orderId }) => !orders.has(orderId)),
        [],
      );
    }
    const started = "WorkflowType = 'placeOrder'";
    await until(async () => {
      const { count } = await stack.temporal.workflow.count(started);
      return count === orders.size;
    });
  });

  it('leaves a server that takes a good order', async () => {
    const answer = await stack.post({ userId: 'user-1', amount: 1000 });

    assert.equal(answer.status, 201, answer.text);
  });
});

const STUCK_ORDERS = 4;
const stuck = new Set<string>();

/** Orders whose refund is refused for good, for operators to settle. */
async function placeStuckOrders(stack: RunningStack): Promise<void> {
  await stack.payment.faults([
    { operation: 'refund', fault: 'error-before', status: 400, times: STUCK_ORDERS },
  ]);
  for (let n = 0; n < STUCK_ORDERS; n += 1) {
    const items = [{ sku: 'SOLD-OUT', quantity: 1 }];
    const body = { userId: 'user-1', amount: 1000, items };
    const { json } = await stack.post(body, { headers: { prefer: 'respond-async' } });
    stuck.add(String(json['orderId']));
  }
  for (const orderId of stuck) {
    await until(
      async () => (await stack.get(`/orders/${orderId}`)).json['status'] === 'needs_attention',
    );
  }
}

const kindOf = (operation: string): string =>
  operation.replace(/^(\w+ \/(?:orders|problems)\/)[^/]*/, '$1…');

function summaryOf(interactions: readonly Interaction[]): string {
  const byStatus = new Map<number, number>();
  for (const { status } of interactions) byStatus.set(status, (byStatus.get(status) ?? 0) + 1);
  const counts = [...byStatus].sort(([a], [b]) => a - b).map(([status, n]) => `${status}: ${n}`);
  return `      ${interactions.length} requests; by status ${counts.join(', ')}`;
}
