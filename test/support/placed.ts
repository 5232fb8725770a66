import { randomUUID } from 'node:crypto';
import type { RunningStack, WireAnswer } from './stack.js';

/** An order as its client knows it, to be asked for again. */
export interface Placed {
  readonly key: string;
  readonly body: object;
  readonly orderId: string;
  readonly sagaId: string;
}

type Entrance = Pick<RunningStack, 'post'>;

/** Places an order under a new key, without waiting for its end. */
export async function place(stack: Entrance, body: object): Promise<Placed> {
  const key = randomUUID();
  const { json } = await stack.post(body, { key, headers: { prefer: 'respond-async' } });
  return { key, body, orderId: String(json['orderId']), sagaId: String(json['sagaId']) };
}

/** Repeats the request of an order. */
export function ask(stack: Entrance, { key, body }: Placed, prefer: string): Promise<WireAnswer> {
  return stack.post(body, { key, headers: { prefer } });
}
