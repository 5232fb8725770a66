import { problemTypes } from '../../http/protocol-problems.js';

export const PAYMENT_PROBLEMS = problemTypes({
  'payment-declined': {
    status: 402,
    title: 'The payment was declined',
    detail: 'Nothing was charged, and this key will always get this answer. Use another method.',
  },
  'charge-voided': {
    status: 409,
    title: 'The charge was undone',
    detail:
      'This key was refunded or voided and can never charge again. For a new charge use a new key.',
  },
});
