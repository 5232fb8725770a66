import { setTimeout as sleep } from 'node:timers/promises';
import type { Clients } from './clients.js';
import { ask } from './http.js';
import type { Sending } from './http.js';
import type { OrderDocument } from './journal.js';
import type { Product } from './product.js';
import { createRandom } from './random.js';

/** 30 looks a second at most: orders that need a person are few, and the product has other work. */
const LOOKS_PER_SECOND = 30;

export interface Operator {
  /** Watches the orders that have no end and helps those that need a person, until the signal. */
  readonly watch: (signal: AbortSignal) => Promise<void>;
}

/** The person who ends stuck undos: by another try, or by settling the matter with the service and saying so. */
export function createOperator(product: Product, clients: Clients, seed: string): Operator {
  const random = createRandom(seed, 'operator');
  const authorization = `Bearer ${product.tokenOf('operator')}`;
  const ended = new Set<string>();

  async function look(orderId: string): Promise<void> {
    const url = `${random.pick(product.apis)}/orders/${orderId}`;
    const sent = await clients.sendRecorded({ request: 'read', tenant: 'operator', orderId }, url, {
      headers: { authorization },
    });
    if (sent.kind !== 'ok' || sent.wire.status !== 200) return;
    const document = JSON.parse(sent.wire.body) as OrderDocument;
    if (document.status === 'confirmed' || document.status === 'cancelled') ended.add(orderId);
    if (document.status !== 'needs_attention') return;
    for (const { name, compensationState } of document.steps) {
      if (compensationState === 'stuck') await help(document, name);
    }
  }

  async function help({ orderId }: OrderDocument, step: string): Promise<void> {
    const tell = (request: 'retry-undo' | 'resolve-undo', why: string): Promise<unknown> => {
      const url = `${product.apis[0]}/orders/${orderId}/undo/${request.split('-')[0] ?? ''}`;
      return clients.sendRecorded({ request, tenant: 'operator', orderId, step }, url, {
        method: 'POST',
        headers: { authorization },
        body: JSON.stringify({ step, who: 'hammer', why }),
      });
    };
    if (random.chance(0.65)) await tell('retry-undo', 'the service is mended');
    // Only when it surely is settled: no order may be called cancelled with money out.
    else if (await settleByHand(orderId, step)) await tell('resolve-undo', 'settled by hand');
  }

  async function settleByHand(orderId: string, step: string): Promise<boolean> {
    const downstreamKey = `by-hand:${orderId}:${step}`;
    const [url, body] =
      step === 'payment'
        ? [`${product.payment}/refunds`, { orderId, chargeKey: `${orderId}:pay` }]
        : [`${product.inventory}/releases`, { orderId, reservationKey: `${orderId}:inv` }];
    const sending: Sending = {
      method: 'POST',
      headers: { 'idempotency-key': downstreamKey },
      body: JSON.stringify(body),
    };
    const sent = await clients.sendRecorded(
      { request: 'by-hand', tenant: 'operator', orderId, step, downstreamKey },
      url,
      sending,
    );
    return sent.kind === 'ok' && sent.wire.status === 200;
  }

  return {
    watch: async (signal) => {
      const isOver = (): boolean => signal.aborted;
      while (!isOver()) {
        const open = clients.orders
          .filter(({ final }) => final === undefined)
          .flatMap(({ orderIds }) => [...orderIds])
          .filter((orderId) => !ended.has(orderId));
        for (const orderId of open) {
          if (isOver()) return;
          await look(orderId);
          await sleep(1_000 / LOOKS_PER_SECOND);
        }
        await sleep(500, undefined, { signal }).catch(() => undefined);
      }
    },
  };
}

/** The order as an operator reads it; undefined where no API answers. */
export async function readOrder(
  product: Product,
  orderId: string,
): Promise<OrderDocument | undefined> {
  const headers = { authorization: `Bearer ${product.tokenOf('operator')}` };
  for (const api of product.apis) {
    const document = await ask<OrderDocument>(`${api}/orders/${orderId}`, { headers });
    if (document !== undefined) return document;
  }
  return undefined;
}
