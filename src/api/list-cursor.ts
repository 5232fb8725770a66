import type { ListPosition } from '../store/order-lists.js';

/**
 * A cursor holds where the next page begins and nothing else: it is opaque by agreement, not secret, and
 * opens nothing, since the tenant comes from the token and the filters from the request. Written out, so that
 * a schema can say what it is: 16 digits of microseconds last until the year 2286.
 */
export const CURSOR_PATTERN = '^[1-9][0-9]{0,15}\\.ORD-[0-9a-f]{32}$';

export const writeCursor = ({ createdAtUs, orderId }: ListPosition): string =>
  `${createdAtUs}.${orderId}`;

/** @param cursor of that pattern. */
export function readCursor(cursor: string): ListPosition {
  const [microseconds = '', orderId = ''] = cursor.split('.');
  return { createdAtUs: BigInt(microseconds), orderId };
}
