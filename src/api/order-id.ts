import { v7 as uuidv7 } from 'uuid';

const ORDER_ID = /^ORD-[0-9a-f]{32}$/;

/** `ORD-` and 32 hex digits of a UUIDv7: unique without asking anyone, and new ones side by side in the index. */
export const mintOrderId = (): string => `ORD-${uuidv7().replaceAll('-', '')}`;

export const isOrderId = (text: string): boolean => ORDER_ID.test(text);
