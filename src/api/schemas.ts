import { Type } from 'typebox';
import type { Static } from 'typebox';
import { ORDER_STATUSES } from '../domain/order.js';
import type { OrderStatus } from '../domain/order.js';

/** An unknown member is refused, never dropped: it may be the one that matters to its sender. */
const closed = { additionalProperties: false };

const shortText = (description: string) =>
  Type.String({ minLength: 1, maxLength: 64, description });

export const DEFAULT_CURRENCY = 'JPY';
export const DEFAULT_ITEMS = [{ sku: 'DEFAULT', quantity: 1 }];
export const DEFAULT_PAYMENT_METHOD = 'pm_ok';

/**
 * The body of `POST /orders`. It names its defaults in words only: Fastify would write a `default` into the
 * body, which must stay as it was sent.
 */
export const PlaceOrderBody = Type.Object(
  {
    userId: shortText('Who orders. Never sent to the workflow engine.'),
    amount: Type.Integer({
      minimum: 1,
      maximum: 10_000_000,
      description: 'Minor units: 1999 is 19.99 EUR, 1000 is 1000 JPY.',
    }),
    currency: Type.Optional(
      Type.Unsafe<string>({
        type: 'string',
        enum: Intl.supportedValuesOf('currency'),
        description: `ISO 4217. Default ${DEFAULT_CURRENCY}.`,
      }),
    ),
    items: Type.Optional(
      Type.Array(
        Type.Object(
          {
            sku: shortText('What is ordered; each SKU once.'),
            quantity: Type.Integer({ minimum: 1, maximum: 1_000 }),
          },
          closed,
        ),
        { minItems: 1, maxItems: 100, description: 'Default one piece of DEFAULT.' },
      ),
    ),
    paymentMethod: Type.Optional(
      shortText(`A token of the payment provider. Default ${DEFAULT_PAYMENT_METHOD}.`),
    ),
  },
  closed,
);
export type PlaceOrderBody = Static<typeof PlaceOrderBody>;

/** No parameter is known; an unknown one might have been meant to change what happens. */
export const NoQuery = Type.Object({}, closed);

/** 20 orders a page: a screen of them. 100 at most, some 100 KB. */
export const DEFAULT_PAGE_SIZE = 20;

/** The query of `GET /orders`. Numbers come as text: nothing is coerced, in a query neither. */
export const ListQuery = Type.Object(
  {
    status: Type.Optional(
      Type.Unsafe<OrderStatus>({
        type: 'string',
        enum: ORDER_STATUSES,
        description: 'Where the orders stand. An operator’s token takes needs_attention only.',
      }),
    ),
    userId: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 64,
        pattern: '^[^\\u0000]*$',
        description: 'Who ordered.',
      }),
    ),
    cursor: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 128,
        description: 'nextCursor of the page before, with the same filters.',
      }),
    ),
    limit: Type.Optional(
      Type.String({
        pattern: '^([1-9][0-9]?|100)$',
        description: `How many orders, 1–100. Default ${DEFAULT_PAGE_SIZE}.`,
      }),
    ),
  },
  closed,
);

/** Any text: an id of the wrong form is an unknown order, with the same answer. */
export const OrderParams = Type.Object({ orderId: Type.String() });

/** What an operator says about a stuck undo. */
export const UndoBody = Type.Object(
  {
    step: Type.Union([Type.Literal('payment'), Type.Literal('inventory')]),
    who: Type.Optional(shortText('Who asks; the name of the token where it is left out.')),
    why: Type.String({ minLength: 1, maxLength: 1_000, description: 'Kept for the auditor.' }),
  },
  closed,
);
export type UndoBody = Static<typeof UndoBody>;
