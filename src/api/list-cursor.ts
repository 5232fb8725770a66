import type { ListPosition } from '../store/order-lists.js';
import { isOrderId } from './order-id.js';

/**
 * A cursor holds where the next page begins and nothing else: it is opaque by agreement, not secret, and
 * opens nothing, since the tenant comes from the token and the filters from the request.
 */
export function writeCursor({ createdAtUs, orderId }: ListPosition): string {
  return Buffer.from(`${createdAtUs}.${orderId}`).toString('base64url');
}

/** @returns undefined for whatever is not written by `writeCursor`. */
export function readCursor(cursor: string): ListPosition | undefined {
  const [microseconds = '', orderId = ''] = Buffer.from(cursor, 'base64url').toString().split('.');
  if (!/^[1-9][0-9]{0,15}$/.test(microseconds) || !isOrderId(orderId)) return undefined;
  const position = { createdAtUs: BigInt(microseconds), orderId };
  // Node reads base64url leniently: one position has one cursor.
  return writeCursor(position) === cursor ? position : undefined;
}
