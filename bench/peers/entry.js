/**
 * The HTTP entry of every peer: `POST /orders` with a key, a fingerprint, the same answers and the same replay as ours.
 * The claim is what each engine recommends for it: an ID or an idempotency key of its own, not a table beside it.
 * It has less to do than ours: no rate limit, no card check, no order row to read, no request log.
 */
import Fastify from 'fastify';
import { v7 as uuidv7 } from 'uuid';
import { fingerprint } from '../../dist/api/idempotency/fingerprint.js';
import { workflowIdFor } from '../../dist/api/idempotency/key.js';
import { answerOf } from '../../dist/domain/outcome.js';

const SCOPE = 'POST:/orders';

const BODY = {
  type: 'object',
  additionalProperties: false,
  required: ['userId', 'amount'],
  properties: {
    userId: { type: 'string', minLength: 1, maxLength: 64 },
    amount: { type: 'integer', minimum: 1, maximum: 10_000_000 },
    currency: { type: 'string', pattern: '^[A-Z]{3}$' },
    paymentMethod: { type: 'string', minLength: 1, maxLength: 64 },
    items: {
      type: 'array',
      minItems: 1,
      maxItems: 100,
      items: {
        type: 'object',
        additionalProperties: false,
        required: ['sku', 'quantity'],
        properties: {
          sku: { type: 'string', minLength: 1, maxLength: 64 },
          quantity: { type: 'integer', minimum: 1, maximum: 1000 },
        },
      },
    },
  },
};

/** What a peer is told on its command line, as JSON. */
export const settings = () => JSON.parse(process.argv[2]);

/**
 * Serves until it is told to stop.
 *
 * @param place `(id, request) => placed`: runs `request.order` once for an ID and returns what that first run made of
 *   it, `{ order, hash, outcome }`, to every later call too.
 */
export async function serve({ port, token }, place, close) {
  const app = Fastify();
  app.post('/orders', { schema: { body: BODY } }, async (request, reply) => {
    if (request.headers.authorization !== `Bearer ${token}`) return reply.code(401).send();
    const key = request.headers['idempotency-key'];
    if (key === undefined || key === '') return reply.code(400).send();
    const { body } = request;
    const hash = fingerprint({ method: 'POST', route: '/orders', query: {}, body });
    const id = workflowIdFor('order-', { tenant: 'demo', scope: SCOPE, key });
    const order = {
      orderId: `ORD-${uuidv7().replaceAll('-', '')}`,
      amount: body.amount,
      currency: body.currency ?? 'JPY',
      items: body.items ?? [{ sku: 'DEFAULT', quantity: 1 }],
      paymentMethod: body.paymentMethod ?? 'pm_ok',
    };
    const placed = await place(id, { order, hash });
    if (placed.hash !== hash)
      return reply.code(409).send({ type: '/problems/idempotency-key-reused' });
    const answer = answerOf(placed.outcome, placed.order.orderId, id);
    // Another order id than the one minted here: an earlier request made it.
    if (placed.order.orderId !== order.orderId) void reply.header('idempotent-replayed', 'true');
    return reply.code(answer.status).headers(answer.headers).send(answer.body);
  });
  app.get('/readyz', () => ({ status: 'ready' }));
  await app.listen({ host: '127.0.0.1', port });
  for (const signal of ['SIGINT', 'SIGTERM']) {
    process.once(signal, () => {
      void app
        .close()
        .then(close)
        .finally(() => process.exit(0));
    });
  }
}
