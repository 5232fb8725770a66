import { unavailable } from '../http/app.js';
import type { HttpApp } from '../http/app.js';
import type { Authentication } from './auth.js';
import { createEventStream } from './event-stream.js';
import type { EventStream } from './event-stream.js';
import type { OrderWatch } from './order-watch.js';
import type { ReadOrder } from './read-order.js';
import { NoQuery, OrderParams } from './schemas.js';

/** 15 s between signs of life: proxies cut what is silent for half a minute or more. */
const HEARTBEAT_MS = 15_000;

/** 5,000 streams a process: each holds a socket, and an API that is out of those takes no order. */
const MAX_STREAMS = 5_000;

/** 1 s in a drain for a reader to take what it was sent; a slow one is cut, and comes back to another process. */
const DRAIN_MS = 1_000;

export interface OrderEventDependencies {
  readonly authentication: Authentication;
  readonly readOrder: ReadOrder;
  readonly watch: OrderWatch;
  /** Comes when the process is to stop: every stream then ends. */
  readonly draining: AbortSignal;
}

/** `GET /orders/{orderId}/events`: the order's document, again with each change, until it is final. */
export function addOrderEventRoutes(app: HttpApp, dependencies: OrderEventDependencies): void {
  const { authentication, readOrder, watch, draining } = dependencies;
  const streams = createEventStreams(draining);

  app.get(
    '/orders/:orderId/events',
    {
      schema: { params: OrderParams, querystring: NoQuery },
      onRequest: authentication.requireAnyone,
      // A HEAD would have to wait for the end to tell a length that nobody needs.
      exposeHeadRoute: false,
    },
    async (request, reply) => {
      const row = await readOrder(request, request.params.orderId);
      if (streams.size() >= MAX_STREAMS) throw unavailable('overloaded');
      const stream = streams.open();
      const { event, close } = await watch.open(row, stream);
      stream.readable.once('close', close);
      const isSeen = request.headers['last-event-id'] === event.id;
      if (isSeen && event.isFinal) {
        stream.readable.destroy();
        // What an EventSource takes for the end: it does not come back.
        return reply.code(204).send();
      }
      if (!isSeen) stream.show(event);
      return reply
        .headers({
          'content-type': 'text/event-stream; charset=utf-8',
          // nginx collects an answer before it passes it on, unless it is told not to.
          'x-accel-buffering': 'no',
          // The connection ends with its stream, lest it outlives a drain by its keep-alive time.
          connection: 'close',
        })
        .send(stream.readable);
    },
  );
}

/** The streams of a process, with one heartbeat and one drain for all. */
function createEventStreams(draining: AbortSignal) {
  const streams = new Set<EventStream>();
  let heartbeat: NodeJS.Timeout | undefined;

  draining.addEventListener('abort', () => {
    for (const { end } of streams) end();
    setTimeout(() => {
      for (const { readable } of streams) readable.destroy();
    }, DRAIN_MS).unref();
  });

  return {
    size: () => streams.size,
    open: (): EventStream => {
      const stream = createEventStream();
      streams.add(stream);
      heartbeat ??= setInterval(() => {
        for (const { beat } of streams) beat();
      }, HEARTBEAT_MS);
      stream.readable.once('close', () => {
        streams.delete(stream);
        if (streams.size > 0) return;
        clearInterval(heartbeat);
        heartbeat = undefined;
      });
      if (draining.aborted) stream.end();
      return stream;
    },
  };
}
