import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import { Counter, Histogram } from 'prom-client';
import { FAILURES } from '../domain/failures.js';
import type { StepName } from '../domain/order.js';
import { DURATION_BUCKETS_SECONDS, registry } from './registry.js';

const attemptSeconds = new Histogram({
  name: 'order_saga_step_duration_seconds',
  help: 'Attempts of steps and undos, as the worker saw them: one call to a service each.',
  labelNames: ['step', 'direction', 'result'],
  buckets: DURATION_BUCKETS_SECONDS,
  registers: [registry],
});

export const undos = new Counter({
  name: 'order_saga_undos_total',
  help: 'Definite answers to undos by what the call found; refused ones need a person.',
  labelNames: ['step', 'outcome'],
  registers: [registry],
});

const OUTCOMES: Readonly<Record<StepName, readonly string[]>> = {
  payment: ['refunded', 'already-refunded', 'voided', 'refused'],
  inventory: ['released', 'already-released', 'voided', 'refused'],
};
for (const [step, outcomes] of Object.entries(OUTCOMES)) {
  for (const outcome of outcomes) undos.inc({ step, outcome }, 0);
}

/** Measures one attempt, whatever becomes of it. */
export async function measureAttempt<T>(
  step: StepName,
  direction: 'forward' | 'undo',
  attempt: () => Promise<T>,
): Promise<T> {
  const end = attemptSeconds.startTimer({ step, direction });
  try {
    const done = await attempt();
    end({ result: 'done' });
    return done;
  } catch (error) {
    end({ result: resultOf(error) });
    throw error;
  }
}

const RESULTS: ReadonlyMap<unknown, string> = new Map([
  [FAILURES.paymentDeclined, 'refused'],
  [FAILURES.outOfStock, 'refused'],
  [FAILURES.stepVoided, 'voided'],
  [FAILURES.stepRejected, 'rejected'],
  [FAILURES.undoRefused, 'rejected'],
  [FAILURES.stepUnknown, 'unknown'],
]);

function resultOf(error: unknown): string {
  if (error instanceof CancelledFailure) return 'cancelled';
  const type = error instanceof ApplicationFailure ? error.type : undefined;
  return RESULTS.get(type) ?? 'error';
}
