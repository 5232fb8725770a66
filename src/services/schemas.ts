import { Type } from 'typebox';

/**
 * Limits of our own: these services are somebody else's and know nothing of the callers' formats. Every
 * object is closed, so that a misspelt member is an error and not a default.
 */
export const closed = { additionalProperties: false } as const;

/** Postgres stores no U+0000. A body with one is refused before, but paths and queries come here. */
const STORABLE = '^[^\\u0000]*$';

export const OrderId = Type.String({ minLength: 1, maxLength: 64, pattern: STORABLE });
export const Sku = Type.String({ minLength: 1, maxLength: 64, pattern: STORABLE });

/** A key as the Idempotency-Key header carries it, without quotes. */
export const Key = Type.String({ pattern: '^[\\x21\\x23-\\x7e]{1,255}$' });

export const KeyParams = Type.Object({ key: Key }, closed);

/** Left out: every order. */
export const OrderQuery = Type.Object({ orderId: Type.Optional(OrderId) }, closed);
