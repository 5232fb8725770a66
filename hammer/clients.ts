import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { send } from './http.js';
import type { Sending, Sent, Wire } from './http.js';
import type { Invoke, Recorder } from './journal.js';
import type { Delivery, OrderBody, PlannedOrder, Tenant } from './plan.js';
import type { Product } from './product.js';
import { createRandom } from './random.js';

/** An order as its client knows it. */
export interface ClientOrder {
  readonly planned: PlannedOrder;
  /** Ids that answers have named; more than one is a violation. */
  readonly orderIds: Set<string>;
  /** The first final answer. */
  final: Wire | undefined;
  begun: boolean;
}

export interface Clients {
  readonly orders: readonly ClientOrder[];
  /** Plays the whole plan, the requests of each order at their times. */
  readonly play: (signal: AbortSignal) => Promise<void>;
  /** Clients that ask again go on until this: then each request that is under way is the last one. */
  readonly stop: () => Promise<void>;
  /** Orders that were begun and have no final answer yet. */
  readonly inFlight: () => number;
  /** Sends an order once more, with patience for its end. */
  readonly replay: (order: ClientOrder, other: boolean) => Promise<Sent>;
  readonly cancel: (tenant: string, orderId: string) => Promise<void>;
  /** Any other request of the contract, put on record. */
  readonly sendRecorded: (
    invoke: Omit<Invoke, 'type' | 'id'>,
    url: string,
    sending: Sending,
  ) => Promise<Sent>;
}

/** 40 orders open at once: more, and a slow product would be flooded rather than watched. */
const MAX_OPEN = 40;

/** Above the number that any client needs whose order can end. */
const MAX_TRIES = 40;

/** What a client takes for the end of its order; the rest says to wait or to ask again. */
export function isFinal({ status, body }: Wire): boolean {
  if (status === 201 || status === 402 || status === 502) return true;
  return status === 422 && /"\/problems\/(out-of-stock|order-cancelled)"/.test(body);
}

/** The clients of a run: they only know what answers tell them, and put each of those on record. */
export function createClients(
  product: Product,
  recorder: Recorder,
  planned: readonly PlannedOrder[],
  seed: string,
): Clients {
  const random = createRandom(seed, 'clients');
  const stopping = new AbortController();
  // As many as there are clients that wait.
  setMaxListeners(0, stopping.signal);
  const playing = new Set<Promise<void>>();
  const orders = planned.map((one): ClientOrder => ({
    planned: one,
    orderIds: new Set(),
    final: undefined,
    begun: false,
  }));

  async function sendRecorded(
    invoke: Omit<Invoke, 'type' | 'id'>,
    url: string,
    sending: Sending,
  ): Promise<Sent> {
    const id = recorder.nextId();
    recorder.record({ type: 'invoke', id, ...invoke });
    const sent = await send(url, sending);
    if (sent.kind === 'ok') {
      const { status, headers, body } = sent.wire;
      recorder.record({ type: 'ok', id, status, headers: pickHeaders(headers), body });
    } else recorder.record({ type: sent.kind, id, why: sent.why });
    return sent;
  }

  async function deliver(order: ClientOrder, delivery: Delivery): Promise<Sent> {
    const { planned: plan } = order;
    const body = delivery.hasOtherBody === true ? plan.otherBody : plan.body;
    const sent = await sendRecorded(
      {
        request: 'place',
        tenant: plan.tenant,
        key: plan.key,
        intent: JSON.stringify(body),
        amount: body.amount,
        mayConfirm: plan.mayConfirm,
      },
      `${product.apis[delivery.api] ?? product.apis[0]}/orders`,
      {
        method: 'POST',
        headers: {
          authorization: `Bearer ${product.tokenOf(plan.tenant)}`,
          'idempotency-key': plan.key,
          ...(delivery.prefer !== undefined && { prefer: delivery.prefer }),
        },
        body: textOf(body, delivery.isRearranged === true),
        ...(delivery.leaveAfterMs !== undefined && { leaveAfterMs: delivery.leaveAfterMs }),
      },
    );
    if (sent.kind !== 'ok') return sent;
    // Which order has the key, whichever body was first.
    const orderId = orderIdOf(sent.wire);
    if (orderId !== undefined) order.orderIds.add(orderId);
    if (isFinal(sent.wire)) order.final ??= sent.wire;
    return sent;
  }

  async function cancel(tenant: string, orderId: string): Promise<void> {
    const api = random.pick(product.apis);
    await sendRecorded({ request: 'cancel', tenant, orderId }, `${api}/orders/${orderId}/cancel`, {
      method: 'POST',
      headers: { authorization: `Bearer ${product.tokenOf(tenant as Tenant)}` },
    });
  }

  async function playOne(order: ClientOrder): Promise<void> {
    const { planned: plan } = order;
    order.begun = true;
    const first = plan.deliveries.map(async (delivery) => {
      if (delivery.afterMs > 0) await pause(delivery.afterMs, stopping.signal);
      if (stopping.signal.aborted && delivery.afterMs > 0) return;
      await deliver(order, delivery);
    });
    if (plan.cancelAfterMs !== undefined) first.push(cancelSoon(order, plan.cancelAfterMs));
    if (plan.isMalformedToo) first.push(sendMalformed(plan));
    await Promise.all(first);
    if (!plan.persists) return;
    for (let tries = 0; tries < MAX_TRIES && order.final === undefined; tries += 1) {
      await pause(random.between(300, 1_500), stopping.signal);
      if (stopping.signal.aborted) return;
      const prefer = random.pick([undefined, 'wait=2', 'wait=4', 'respond-async']);
      await deliver(order, {
        afterMs: 0,
        api: random.between(0, 1),
        ...(prefer !== undefined && { prefer }),
      });
    }
  }

  async function cancelSoon(order: ClientOrder, afterMs: number): Promise<void> {
    while (order.orderIds.size === 0) {
      await sleep(5);
      if (stopping.signal.aborted || order.final !== undefined) return;
    }
    await sleep(afterMs);
    const [orderId] = order.orderIds;
    if (orderId !== undefined) await cancel(order.planned.tenant, orderId);
    if (random.chance(0.3) && orderId !== undefined) await cancel(order.planned.tenant, orderId);
  }

  /** Requests that are refused before anything is done; the amount would be found in a ledger. */
  async function sendMalformed({ tenant, key, body }: PlannedOrder): Promise<void> {
    const authorization = `Bearer ${product.tokenOf(tenant)}`;
    const variants: Sending[] = [
      { headers: { authorization }, body: JSON.stringify(body) },
      {
        headers: { authorization, 'idempotency-key': `${key}-malformed` },
        body: JSON.stringify({ ...body, amount: String(body.amount) }),
      },
      {
        headers: { authorization, 'idempotency-key': `${key}-malformed` },
        body: JSON.stringify({ ...body, paid: true }),
      },
      {
        headers: { authorization: 'Bearer nobody', 'idempotency-key': `${key}-malformed` },
        body: JSON.stringify(body),
      },
    ];
    for (const variant of variants) {
      await sendRecorded({ request: 'malformed', tenant }, `${product.apis[0]}/orders`, {
        method: 'POST',
        ...variant,
      });
    }
  }

  const isOpen = (order: ClientOrder): boolean => order.begun && order.final === undefined;
  const inFlight = (): number => orders.filter(isOpen).length;
  return {
    orders,
    inFlight,
    sendRecorded,
    cancel,
    play: async (signal) => {
      const begun = performance.now();
      for (const order of orders) {
        const waitMs = order.planned.atMs - (performance.now() - begun);
        if (waitMs > 0) await sleep(waitMs, undefined, { signal }).catch(() => undefined);
        while (playing.size >= MAX_OPEN && !signal.aborted) await Promise.race(playing);
        if (signal.aborted) return;
        const one: Promise<void> = playOne(order).finally(() => playing.delete(one));
        playing.add(one);
      }
    },
    stop: async () => {
      stopping.abort();
      await Promise.all(playing);
    },
    replay: (order, other) =>
      deliver(order, {
        afterMs: 0,
        api: random.between(0, 1),
        prefer: 'wait=5',
        ...(other && { hasOtherBody: true }),
      }),
  };
}

/** The order that an answer is about, by its body or its `Location`. */
export function orderIdOf({ headers, body }: Pick<Wire, 'headers' | 'body'>): string | undefined {
  return /ORD-[0-9a-f]{32}/.exec(headers['location'] ?? body)?.[0];
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => undefined);
}

function textOf(body: OrderBody, isRearranged: boolean): string {
  if (!isRearranged) return JSON.stringify(body);
  return JSON.stringify(Object.fromEntries(Object.entries(body).toReversed()), null, 2);
}

const KEPT_HEADERS = [
  'content-type',
  'location',
  'retry-after',
  'idempotent-replayed',
  'preference-applied',
];

function pickHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    KEPT_HEADERS.flatMap((name) => {
      const value = headers[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );
}
