import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { sharedStack } from '../support/stack.js';
import type { RunningStack } from '../support/stack.js';
import { until } from '../support/until.js';

const ORDER = { userId: 'u1', amount: 1_000 };
const SOLD_OUT = { ...ORDER, items: [{ sku: 'SOLD-OUT', quantity: 1 }] };

type Metrics = ReadonlyMap<string, number>;

describe('promise: what happened can be counted', () => {
  let stack: RunningStack;

  before(async function () {
    this.timeout(180_000); // builds, downloads and starts on a fresh machine
    stack = await sharedStack();
  });

  it('counts each order, replay, conflict and undo once, at the role that saw it', async () => {
    const [before, paymentBefore] = await Promise.all([metrics('PORT'), metrics('PAYMENT_PORT')]);
    const key = randomUUID();
    const orderId = String((await stack.post(ORDER, { key })).json['orderId']);
    assert.equal((await stack.post(ORDER, { key })).status, 201);
    assert.equal((await stack.post({ ...ORDER, amount: 2_000 }, { key })).status, 409);
    assert.equal((await stack.post(SOLD_OUT)).status, 422);
    assert.equal((await stack.post({ ...ORDER, paymentMethod: 'pm_declined' })).status, 402);

    const [after, paymentAfter] = await Promise.all([metrics('PORT'), metrics('PAYMENT_PORT')]);
    const grown = (series: string): number => (after.get(series) ?? 0) - (before.get(series) ?? 0);
    assert.deepEqual(
      {
        confirmed: grown('order_saga_orders_ended_total{outcome="confirmed",reason="none"}'),
        soldOut: grown('order_saga_orders_ended_total{outcome="cancelled",reason="out-of-stock"}'),
        declined: grown(
          'order_saga_orders_ended_total{outcome="cancelled",reason="payment-declined"}',
        ),
        claims: grown('order_saga_claims_total{kind="new"}'),
        replays: grown('order_saga_replays_total'),
        conflicts: grown('order_saga_conflicts_total{slug="idempotency-key-reused"}'),
        refunds: grown('order_saga_undos_total{step="payment",outcome="refunded"}'),
        measured: grown('order_saga_order_duration_seconds_count{outcome="confirmed"}'),
      },
      {
        confirmed: 1,
        soldOut: 1,
        declined: 1,
        claims: 3,
        replays: 1,
        conflicts: 1,
        refunds: 1,
        measured: 1,
      },
    );
    const charges = 'order_saga_service_calls_total{operation="charge",effect="true",status="201"}';
    assert.equal((paymentAfter.get(charges) ?? 0) - (paymentBefore.get(charges) ?? 0), 2);
    // The SDK's own, of the worker in the same process.
    assert.ok([...after.keys()].some((series) => series.startsWith('temporal_')));
    assert.ok(![...after.keys()].some((series) => series.includes(orderId)));
  });

  it('tells in one log line how an order ended', async () => {
    const orderId = String((await stack.post(SOLD_OUT)).json['orderId']);
    const lines = async (): Promise<readonly Record<string, unknown>[]> =>
      (await stack.log('api'))
        .split('\n')
        .filter((line) => line.includes('"order ended"') && line.includes(orderId))
        .map((line) => JSON.parse(line) as Record<string, unknown>);
    await until(async () => (await lines()).length > 0);

    const [line, ...others] = await lines();
    assert.deepEqual(others, []);
    assert.equal(line?.['outcome'], 'cancelled');
    assert.equal(line['reason'], 'out-of-stock');
    assert.ok(Number(line['durationMs']) > 0);
    assert.ok(typeof line['steps'] === 'object' && line['steps'] !== null);
  });

  /** The metrics of a role, by their series as they are written. */
  async function metrics(portVariable: string): Promise<Metrics> {
    const response = await fetch(`http://127.0.0.1:${stack.env[portVariable] ?? ''}/metrics`);
    assert.equal(response.status, 200);
    const lines = (await response.text()).split('\n').filter((line) => /^[a-z]/.test(line));
    return new Map(
      lines.map((line) => {
        const gap = line.lastIndexOf(' ');
        return [line.slice(0, gap), Number(line.slice(gap + 1))];
      }),
    );
  }
});
