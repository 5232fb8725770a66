import { createRandom } from './random.js';
import type { Random } from './random.js';

export const TENANTS = ['north', 'south'] as const;
export type Tenant = (typeof TENANTS)[number];

/** SKUs: plenty, none, and one with fewer units than orders want, so that releases feed later orders. */
export const SKUS = { plenty: 'DEFAULT', none: 'SOLD-OUT', scarce: 'SCARCE' } as const;

export interface OrderBody {
  readonly userId: string;
  readonly amount: number;
  readonly items?: readonly { readonly sku: string; readonly quantity: number }[];
  readonly paymentMethod?: string;
}

/** One request of a client for its order. */
export interface Delivery {
  /** After the first one. */
  readonly afterMs: number;
  readonly api: number;
  readonly prefer?: string;
  /** The client goes away this long after sending. */
  readonly leaveAfterMs?: number;
  /** Another body under the same key: must be refused, or be the first. */
  readonly hasOtherBody?: boolean;
  /** Members in another order and with white space: the same request all the same. */
  readonly isRearranged?: boolean;
}

export interface PlannedOrder {
  readonly atMs: number;
  readonly tenant: Tenant;
  readonly key: string;
  readonly body: OrderBody;
  readonly otherBody: OrderBody;
  readonly deliveries: readonly Delivery[];
  /** Whether the client asks again until it has a final answer; if not, nobody helps the order on. */
  readonly persists: boolean;
  /** Cancels this long after the order's id is known. */
  readonly cancelAfterMs?: number;
  /** Sends requests that must leave nothing behind, too. */
  readonly isMalformedToo: boolean;
  /** Whether confirmed is a right end. */
  readonly mayConfirm: boolean;
  /** Nothing but faults speaks against its being confirmed. */
  readonly isPlain: boolean;
}

/** Draws all orders of a run. Distinct primes as amounts: a wrong sum names its orders. */
export function planOrders(seed: string, count: number, perSecond: number): PlannedOrder[] {
  const random = createRandom(seed, 'orders');
  const amounts = primes(count * 2 + 10);
  const orders: PlannedOrder[] = [];
  let sharedWithOther: PlannedOrder | undefined;
  for (let index = 0; index < count; index += 1) {
    const atMs = Math.round((index / perSecond) * 1_000 + random.next() * 200);
    const order =
      sharedWithOther === undefined
        ? planOrder(random, seed, index, atMs, amounts)
        : twinOf(random, sharedWithOther, atMs, amounts[index * 2] ?? 2);
    sharedWithOther = undefined;
    // 2 %: the next order has the same key, and half of the time the same body, at another tenant.
    if (random.chance(0.02)) sharedWithOther = order;
    orders.push(order);
  }
  return orders;
}

function planOrder(
  random: Random,
  seed: string,
  index: number,
  atMs: number,
  amounts: readonly number[],
): PlannedOrder {
  const kind = drawKind(random);
  const amount = amounts[index * 2] ?? 2;
  const body: OrderBody = {
    userId: `user-${index}`,
    amount,
    ...(kind === 'declined' && { paymentMethod: 'pm_declined' }),
    ...(kind === 'sold-out' && { items: [{ sku: SKUS.none, quantity: 1 }] }),
    ...(kind === 'scarce' && { items: [{ sku: SKUS.scarce, quantity: random.between(1, 3) }] }),
  };
  return {
    atMs,
    tenant: random.pick(TENANTS),
    key: `hammer-${seed}-${index}-${random.between(0, 999_999_999).toString(36)}`,
    body,
    otherBody: { ...body, amount: amounts[index * 2 + 1] ?? 3 },
    deliveries: planDeliveries(random, kind),
    persists: !random.chance(0.12),
    ...(kind === 'cancelled' && { cancelAfterMs: random.pick([0, 0, 20, 60, 150, 400]) }),
    isMalformedToo: random.chance(0.04),
    mayConfirm: kind !== 'declined' && kind !== 'sold-out',
    isPlain: kind === 'plain',
  };
}

function twinOf(random: Random, order: PlannedOrder, atMs: number, amount: number): PlannedOrder {
  return {
    ...order,
    atMs,
    tenant: order.tenant === 'north' ? 'south' : 'north',
    body: random.chance(0.5) ? order.body : { ...order.body, amount },
  };
}

type Kind = 'plain' | 'declined' | 'sold-out' | 'scarce' | 'cancelled' | 'wrong-body';

function drawKind(random: Random): Kind {
  const draw = random.next();
  if (draw < 0.1) return 'cancelled';
  if (draw < 0.23) return 'declined';
  if (draw < 0.33) return 'sold-out';
  if (draw < 0.4) return 'scarce';
  if (draw < 0.46) return 'wrong-body';
  return 'plain';
}

function planDeliveries(random: Random, kind: Kind): Delivery[] {
  const isBurst = random.chance(0.3);
  const count = isBurst ? random.between(3, 8) : random.pick([1, 1, 1, 2, 2, 3]);
  const deliveries = Array.from({ length: count }, (_, index): Delivery => {
    const draw = random.next();
    const prefer =
      kind === 'cancelled' && index === 0
        ? 'respond-async'
        : draw < 0.2
          ? 'respond-async'
          : draw < 0.5
            ? `wait=${random.between(1, 4)}`
            : undefined;
    return {
      afterMs: index === 0 ? 0 : isBurst ? random.between(0, 15) : random.between(50, 4_000),
      api: random.between(0, 1),
      ...(prefer !== undefined && { prefer }),
      ...(random.chance(0.08) && { leaveAfterMs: random.pick([0, 2, 10, 40, 200]) }),
      ...(random.chance(0.3) && { isRearranged: true }),
    };
  });
  if (kind !== 'wrong-body') return deliveries;
  const afterMs = random.pick([0, 3, 30, 500, 3_000]);
  return [...deliveries, { afterMs, api: random.between(0, 1), hasOtherBody: true }];
}

/** The first primes above 100, by a sieve. */
function primes(count: number): readonly number[] {
  // The nth prime is below n (ln n + ln ln n) for n > 5.
  const n = count + 30;
  const limit = Math.ceil(n * (Math.log(n) + Math.log(Math.log(n)))) + 10;
  const isComposite = new Uint8Array(limit);
  const found: number[] = [];
  for (let number = 2; found.length < count && number < limit; number += 1) {
    if (isComposite[number] === 1) continue;
    if (number > 100) found.push(number);
    for (let multiple = number * number; multiple < limit; multiple += number) {
      isComposite[multiple] = 1;
    }
  }
  return found;
}
