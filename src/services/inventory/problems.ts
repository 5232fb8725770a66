import { problemTypes } from '../../http/protocol-problems.js';

export const INVENTORY_PROBLEMS = problemTypes({
  'out-of-stock': {
    status: 422,
    title: 'There is not enough stock',
    detail: 'Nothing was reserved, and this key will always get this answer. Order less, or later.',
  },
  'reservation-voided': {
    status: 409,
    title: 'The reservation was undone',
    detail:
      'This key was released or voided and can never reserve again. For a new one use a new key.',
  },
  'stock-reserved': {
    status: 409,
    title: 'More is reserved than would be on hand',
    detail: 'The stock is unchanged. Set onHand to at least what is reserved, or release first.',
  },
});
