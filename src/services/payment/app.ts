import { Type } from 'typebox';
import type { HttpApp } from '../../http/app.js';
import { Problem } from '../../http/problem.js';
import { PROTOCOL_PROBLEMS } from '../../http/protocol-problems.js';
import { closed, Key, KeyParams, OrderId, OrderQuery } from '../schemas.js';
import { createServiceApp } from '../service-app.js';
import type { ServiceDeps } from '../service-app.js';
import { createPaymentLedger } from './ledger.js';

/** The one payment method that is good; `pm_declined`, and any that is not known, is declined. */
const GOOD_METHOD = 'pm_ok';

const ChargeBody = Type.Object(
  {
    orderId: OrderId,
    /** Minor units. */
    amount: Type.Integer({ minimum: 1, maximum: 10_000_000 }),
    currency: Type.String({ pattern: '^[A-Z]{3}$' }),
    paymentMethod: Type.String({ minLength: 1, maxLength: 64 }),
  },
  closed,
);
const RefundBody = Type.Object({ orderId: OrderId, chargeKey: Key }, closed);

/** The payment service: charges once a key, and undoes a key for ever. It does not listen. */
export function buildPaymentApp(deps: ServiceDeps): HttpApp {
  const ledger = createPaymentLedger(deps.pool);
  const probe = 'select from charges limit 1';
  return createServiceApp(deps, probe, (app, answerKeyedCall) => {
    app.post('/charges', { schema: { body: ChargeBody } }, (request, reply) => {
      const { body } = request;
      return answerKeyedCall(request, reply, {
        operation: 'charge',
        orderId: body.orderId,
        run: async (key) => {
          const isDeclined = body.paymentMethod !== GOOD_METHOD;
          const { charge, first } = await ledger.charge(key, body, isDeclined);
          return { status: 201, body: charge, effect: first };
        },
      });
    });

    app.post('/refunds', { schema: { body: RefundBody } }, (request, reply) => {
      const { body } = request;
      return answerKeyedCall(request, reply, {
        operation: 'refund',
        orderId: body.orderId,
        run: async (key) => {
          const { outcome, effect } = await ledger.refund(key, body);
          return { status: 200, body: { outcome }, effect };
        },
      });
    });

    app.get('/charges/:key', { schema: { params: KeyParams } }, async (request) => {
      const charge = await ledger.read(request.params.key);
      if (charge === undefined) throw new Problem(PROTOCOL_PROBLEMS['not-found']);
      return charge;
    });

    app.get('/ledger', { schema: { querystring: OrderQuery } }, (request) =>
      ledger.lines(request.query.orderId),
    );
  });
}
