import { FAILURES } from '../domain/failures.js';
import type { OrderItem } from '../domain/order.js';
import type { Downstream } from './downstream.js';
import { forward, undo } from './step.js';
import type { Attempts } from './step.js';

export interface Reservation {
  readonly key: string;
  readonly orderId: string;
  readonly items: readonly OrderItem[];
}

export interface Release {
  readonly key: string;
  readonly orderId: string;
  /** The forward key of the reservation to undo, whether it arrived or not. */
  readonly reservationKey: string;
}

export function createInventoryActivities(inventory: Downstream) {
  return {
    /** Reserves all items or none, once in effect. */
    reserveInventory({ key, orderId, items }: Reservation): Promise<Attempts> {
      return forward(inventory, {
        step: 'inventory',
        path: '/reservations',
        key,
        body: { orderId, items },
        isDone: ({ status, document }) => status === 201 && document?.['reservationKey'] === key,
        refusal: { problem: 'out-of-stock', failure: FAILURES.outOfStock },
      });
    },

    /** Releases the reservation, or bars it should it still be on its way. */
    releaseInventory({ key, orderId, reservationKey }: Release): Promise<Attempts> {
      return undo(
        inventory,
        {
          step: 'inventory',
          path: '/releases',
          key,
          body: { orderId, reservationKey },
          alreadyUndone: 'already-released',
          undone: ['released', 'voided'],
        },
        'release',
      );
    },
  };
}
