import { problemTypes } from '../http/protocol-problems.js';

/** What both services answer beyond the problems of the protocol. */
export const SERVICE_PROBLEMS = problemTypes({
  // 422, not 409: a caller that retries conflicts would retry a mistake for ever.
  'order-mismatch': {
    status: 422,
    title: 'The key to undo belongs to another order',
    detail: 'Nothing was undone. Send the orderId that the forward call was made with.',
  },
});
