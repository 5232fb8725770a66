import { Type } from 'typebox';
import type { HttpApp } from '../../http/app.js';
import { Problem } from '../../http/problem.js';
import { PROTOCOL_PROBLEMS } from '../../http/protocol-problems.js';
import { closed, Key, KeyParams, OrderId, OrderQuery, Sku } from '../schemas.js';
import { createServiceApp } from '../service-app.js';
import type { ServiceDeps } from '../service-app.js';
import { createInventoryLedger } from './ledger.js';
import { readStock, setOnHand } from './stock.js';
import type { Item } from './stock.js';

const ReservationBody = Type.Object(
  {
    orderId: OrderId,
    items: Type.Array(
      Type.Object({ sku: Sku, quantity: Type.Integer({ minimum: 1, maximum: 1_000_000 }) }, closed),
      { minItems: 1, maxItems: 100 },
    ),
  },
  closed,
);
const ReleaseBody = Type.Object({ orderId: OrderId, reservationKey: Key }, closed);
const StockParams = Type.Object({ sku: Sku }, closed);
/** A billion: below what a Postgres integer holds, above any warehouse. */
const StockBody = Type.Object(
  { onHand: Type.Integer({ minimum: 0, maximum: 1_000_000_000 }) },
  closed,
);

/** The inventory service: reserves once a key, and undoes a key for ever. It does not listen. */
export function buildInventoryApp(deps: ServiceDeps): HttpApp {
  const ledger = createInventoryLedger(deps.pool);
  const probe = 'select from stock limit 1';
  return createServiceApp(deps, probe, (app, answerKeyedCall) => {
    app.post('/reservations', { schema: { body: ReservationBody } }, (request, reply) => {
      const { body } = request;
      demandDistinctSkus(body.items);
      return answerKeyedCall(request, reply, {
        operation: 'reserve',
        orderId: body.orderId,
        run: async (key) => {
          const { reservation, first } = await ledger.reserve(key, body);
          return { status: 201, body: reservation, effect: first };
        },
      });
    });

    app.post('/releases', { schema: { body: ReleaseBody } }, (request, reply) => {
      const { body } = request;
      return answerKeyedCall(request, reply, {
        operation: 'release',
        orderId: body.orderId,
        run: async (key) => {
          const { outcome, effect } = await ledger.release(key, body);
          return { status: 200, body: { outcome }, effect };
        },
      });
    });

    app.get('/reservations/:key', { schema: { params: KeyParams } }, async (request) =>
      found(await ledger.read(request.params.key)),
    );
    app.get('/stock/:sku', { schema: { params: StockParams } }, async (request) =>
      found(await readStock(deps.pool, request.params.sku)),
    );
    app.put('/stock/:sku', { schema: { params: StockParams, body: StockBody } }, (request) =>
      setOnHand(deps.pool, request.params.sku, request.body.onHand),
    );
    app.get('/ledger', { schema: { querystring: OrderQuery } }, (request) =>
      ledger.lines(request.query.orderId),
    );
  });
}

/** Two lines of one SKU would each be checked against the whole stock. */
function demandDistinctSkus(items: readonly Item[]): void {
  if (new Set(items.map(({ sku }) => sku)).size === items.length) return;
  const detail = 'body/items must not name a SKU twice';
  throw new Problem(PROTOCOL_PROBLEMS['validation-failed'], { detail });
}

function found<T>(value: T | undefined): T {
  if (value === undefined) throw new Problem(PROTOCOL_PROBLEMS['not-found']);
  return value;
}
