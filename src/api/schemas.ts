import { Type } from 'typebox';
import type { Static, TStringOptions } from 'typebox';
import { ORDER_STATUSES } from '../domain/order.js';
import type { OrderStatus } from '../domain/order.js';
import { CURSOR_PATTERN } from './list-cursor.js';

/** An unknown member is refused, never dropped: it may be the one that matters to its sender. */
const closed = { additionalProperties: false };

/** U+0000 has been refused with the body; a document that takes it would promise too much. */
const NO_NUL = '^[^\\u0000]*$';

const shortText = (description: string, options: TStringOptions = {}) =>
  Type.String({ minLength: 1, maxLength: 64, pattern: NO_NUL, description, ...options });

export const DEFAULT_CURRENCY = 'JPY';
export const DEFAULT_ITEMS = [{ sku: 'DEFAULT', quantity: 1 }];
export const DEFAULT_PAYMENT_METHOD = 'pm_ok';

/** The body of `POST /orders`. Its defaults are filled in where an order is made of it, not by Fastify. */
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
        default: DEFAULT_CURRENCY,
        description: 'ISO 4217.',
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
        { minItems: 1, maxItems: 100, uniqueItems: true, default: DEFAULT_ITEMS },
      ),
    ),
    paymentMethod: Type.Optional(
      shortText('A token of the payment provider.', { default: DEFAULT_PAYMENT_METHOD }),
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
    userId: Type.Optional(shortText('Who ordered.')),
    cursor: Type.Optional(
      Type.String({
        pattern: CURSOR_PATTERN,
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

/** The body of a cancel: none, or an empty object, which some clients send for none. */
export const NoBody = Type.Unsafe<null | Record<string, never>>({
  type: ['object', 'null'],
  additionalProperties: false,
});

/** What an operator says about a stuck undo. */
export const UndoBody = Type.Object(
  {
    step: Type.Union([Type.Literal('payment'), Type.Literal('inventory')]),
    who: Type.Optional(shortText('Who asks; the name of the token where it is left out.')),
    why: Type.String({
      minLength: 1,
      maxLength: 1_000,
      pattern: NO_NUL,
      description: 'Kept for the auditor.',
    }),
  },
  closed,
);
export type UndoBody = Static<typeof UndoBody>;
