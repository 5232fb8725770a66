/**
 * The order on Restate, as its documentation has it (docs.restate.dev, TypeScript; checked against SDK 1.17,
 * server 1.7):
 * - a service handler invoked with an idempotency key: Restate runs it once a key, and gives every later call the first
 *   one's result for a day ("Invocation: idempotent requests");
 * - each call to the world in `ctx.run`; a definite no is a `TerminalError`, which the handler catches to run its
 *   compensations (guide "Sagas", and `patterns-use-cases/src/sagas` of restatedev/examples);
 * - the typed ingress client, and the endpoint over HTTP/2 that the SDK serves by itself.
 */
import { serve as serveEndpoint, service, TerminalError } from './restate-sdk.js';
import * as clients from '@restatedev/restate-sdk-clients';
import { serve, settings } from './entry.js';
import { cancelled, CONFIRMED, createSteps, Refused } from './steps.js';

const config = settings();
const steps = createSteps(config);

/** Retried by Restate for ever, except where the service has refused. */
const step = (ctx, name, call) =>
  ctx.run(name, async () => {
    try {
      await call();
    } catch (error) {
      throw error instanceof Refused ? new TerminalError(error.reason) : error;
    }
  });

const orders = service({
  name: 'orders',
  handlers: {
    place: async (ctx, { order, hash }) => {
      const undos = [];
      try {
        await step(ctx, 'charge', () => steps.charge(order));
        undos.unshift(() => step(ctx, 'refund', () => steps.refund(order)));
        await step(ctx, 'reserve', () => steps.reserve(order));
        return { order, hash, outcome: CONFIRMED };
      } catch (error) {
        if (!(error instanceof TerminalError)) throw error;
        for (const undo of undos) await undo();
        return { order, hash, outcome: cancelled(error.message) };
      }
    },
  },
});

await serveEndpoint({ services: [orders], port: config.endpointPort });
const registered = await fetch(`${config.adminUrl}/deployments`, {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ uri: `http://127.0.0.1:${config.endpointPort}` }),
});
if (!registered.ok) throw new Error(`Restate: ${registered.status} ${await registered.text()}`);
const ingress = clients.connect({ url: config.ingressUrl }).serviceClient(orders);
await serve(
  config,
  (id, request) => ingress.place(request, clients.rpc.opts({ idempotencyKey: id })),
  () => Promise.resolve(),
);
