import { setTimeout as sleep } from 'node:timers/promises';
import type { RunningStack, WireAnswer } from '../support/stack.js';
import type { PlannedOrder } from './plan.js';

/** A final answer, reduced to what a replay repeats. */
export interface FinalAnswer {
  readonly status: number;
  readonly body: string;
  readonly location: string | null;
  readonly contentType: string | null;
}

/** The two names that an order has: by the first an API knows it, by the second Temporal. */
export interface OrderNames {
  readonly orderId: string;
  readonly sagaId: string;
}

const FINAL_STATUSES: ReadonlySet<number> = new Set([201, 402, 422, 502]);

/** 1 s between a client's tries, as `Retry-After` says. */
const RETRY_MS = 1_000;

export const isFinalAnswer = ({ status }: { readonly status: number }): boolean =>
  FINAL_STATUSES.has(status);

export const asFinal = ({ status, text, headers }: WireAnswer): FinalAnswer => ({
  status,
  body: text,
  location: headers.get('location'),
  contentType: headers.get('content-type'),
});

/**
 * Places an order without waiting for its end. Repeats it as a client should that gets no word, or 503.
 *
 * @throws Error where the request itself is refused: no repetition would help.
 */
export async function place(stack: RunningStack, { key, body }: PlannedOrder): Promise<OrderNames> {
  for (;;) {
    const headers = { prefer: 'respond-async' };
    const answer = await stack.post(body, { key, headers }).catch(() => undefined);
    if (answer?.status === 202 || (answer !== undefined && isFinalAnswer(answer))) {
      const { orderId, sagaId } = answer.json;
      return { orderId: String(orderId), sagaId: String(sagaId) };
    }
    if (answer?.status === 400) throw new Error(`${key} is refused: ${answer.text}`);
    await sleep(RETRY_MS);
  }
}

/**
 * Repeats an order under its key until the answer is final, some copies of the request at once at first.
 *
 * @param isPatient ends it when false.
 * @returns every final answer that came; none where patience ended.
 */
export async function untilFinal(
  stack: RunningStack,
  { key, body, prefer, copies }: PlannedOrder,
  isPatient: () => boolean,
): Promise<readonly FinalAnswer[]> {
  const options = { key, headers: prefer === undefined ? {} : { prefer } };
  for (let round = 0; isPatient(); round += 1) {
    const requests = Array.from({ length: round === 0 ? copies : 1 }, () =>
      stack.post(body, options).catch(() => undefined),
    );
    const answers = (await Promise.all(requests)).filter((answer) => answer !== undefined);
    const final = answers.filter(isFinalAnswer).map(asFinal);
    if (final.length > 0) return final;
    await sleep(RETRY_MS);
  }
  return [];
}
