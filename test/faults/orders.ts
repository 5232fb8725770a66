import assert from 'node:assert/strict';
import { held } from '../support/money.js';
import { until } from '../support/until.js';
import type { Rig } from './rig.js';

export const ORDER = { userId: 'u1', amount: 1_000 };
export const SOLD_OUT = { ...ORDER, items: [{ sku: 'SOLD-OUT', quantity: 1 }] };
export const WAIT = { prefer: 'wait=60' };
export const ASYNC = { prefer: 'respond-async' };

export const NOTHING = { money: 0, reservations: 0 };
export const ALL = { money: 1_000, reservations: 1 };

export interface Claimed {
  readonly orderId: string;
  readonly workflowId: string;
}

/** Waits until a key has an order, which is read from the database: no answer tells while the API is cut off. */
export async function claimed(rig: Rig, key: string): Promise<Claimed> {
  let found: Claimed | undefined;
  await until(async () => {
    const { rows } = await rig.ordersPool.query<{ resource_id: string; workflow_id: string }>(
      'select resource_id, workflow_id from claims where idempotency_key = $1',
      [key],
    );
    const [row] = rows;
    if (row !== undefined) found = { orderId: row.resource_id, workflowId: row.workflow_id };
    return found !== undefined;
  });
  return found!;
}

/** Whether Temporal knows the workflow of an order. */
export function isStarted(rig: Rig, workflowId: string): Promise<boolean> {
  return rig.temporal.workflow
    .getHandle(workflowId)
    .describe()
    .then(
      () => true,
      () => false,
    );
}

/** Attempts that the order's pending activity has made. */
export async function attemptsOf(rig: Rig, workflowId: string): Promise<number> {
  const { raw } = await rig.temporal.workflow.getHandle(workflowId).describe();
  return raw.pendingActivities?.[0]?.attempt ?? 0;
}

/** Checks that an order was charged once and reserved once, by the ledgers. */
export async function assertBoughtOnce(rig: Rig, orderId: string): Promise<void> {
  assert.deepEqual(await rig.payment.kinds(orderId), ['charge']);
  assert.deepEqual(await rig.inventory.kinds(orderId), ['reserve']);
}

/** Checks that an order holds what its status says: all, or nothing. */
export async function assertHolds(rig: Rig, orderId: string, status: string): Promise<void> {
  assert.deepEqual(await held(rig, orderId), status === 'confirmed' ? ALL : NOTHING);
}
