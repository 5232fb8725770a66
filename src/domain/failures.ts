/**
 * The types of the `ApplicationFailure`s that activities throw, as a person reads them in the Web UI.
 * The first two are refusals, a definite no of the world; `StepUnknown` is retried; the rest is final.
 */
export const FAILURES = {
  paymentDeclined: 'PaymentDeclined',
  outOfStock: 'OutOfStock',
  /** The step was undone before it was done: its key is barred for ever. */
  stepVoided: 'StepVoided',
  /** No definite answer: it may have happened, so it is asked again with the same key. */
  stepUnknown: 'StepUnknown',
  /** The downstream does not understand what we send: our bug. */
  stepRejected: 'StepRejected',
  /** The downstream refuses an undo for good: a person must look. */
  undoRefused: 'UndoRefused',
} as const;
