import type { StepName } from '../domain/order.js';
import { apiFor, demand } from './api.js';
import type { Context } from './api.js';
import { EXIT } from './exit-codes.js';
import type { ExitCode } from './exit-codes.js';

export interface OperatorsWord {
  readonly who?: string;
  readonly why: string;
}

/** `ops retry` and `ops resolve`: a person's word on an undo that is stuck. */
export async function settle(
  context: Context,
  action: 'retry' | 'resolve',
  orderId: string,
  step: StepName,
  { who, why }: OperatorsWord,
): Promise<ExitCode> {
  const { terminal } = context;
  const api = await apiFor(context, 'operator');
  const answer = await demand(api, `/orders/${encodeURIComponent(orderId)}/undo/${action}`, {
    method: 'POST',
    body: { step, why, ...(who !== undefined && { who }) },
  });
  if (terminal.json) terminal.out(JSON.stringify(answer));
  else {
    terminal.out(
      action === 'retry'
        ? `${orderId}: the undo of ${step} is tried again at once.`
        : `${orderId}: the undo of ${step} is settled by a person and not tried again.`,
    );
    terminal.note(`Next: order-saga watch ${orderId} --operator`);
  }
  return EXIT.done;
}
