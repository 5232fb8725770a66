import { Type } from 'typebox';
import type { Config } from '../config.js';
import { unavailable } from '../http/app.js';
import type { HttpApp } from '../http/app.js';
import { Problem } from '../http/problem.js';
import { PROTOCOL_PROBLEMS } from '../http/protocol-problems.js';
import type { Authentication } from './auth.js';
import type { ReadOrder } from './read-order.js';
import { NoQuery } from './schemas.js';

/** 5 s: a page that waits longer for a ledger looks broken itself. */
const CALL_TIMEOUT_MS = 5_000;

const LedgerQuery = Type.Object({ orderId: Type.String() }, { additionalProperties: false });
const Faults = Type.Array(Type.Object({}), { maxItems: 1_000 });

interface Fault {
  readonly operation: string;
}

/** A downstream service, as the worker knows it. */
interface Service {
  readonly url: string;
  /** Sent as a bearer token; undefined where the service demands none. */
  readonly token: string | undefined;
  /** What it does, and what a fault of its own befalls. */
  readonly operations: readonly string[];
}

export interface DeskServiceDependencies {
  readonly authentication: Authentication;
  readonly readOrder: ReadOrder;
  readonly config: Pick<Config, 'paymentUrl' | 'paymentToken' | 'inventoryUrl' | 'inventoryToken'>;
}

/**
 * Shows the order desk what the downstream services have in their books, and lets it spoil their answers.
 * For trying things out: to be added only where those services open their fault endpoints too. Nothing that
 * an order depends on goes this way.
 */
export function addDeskServiceRoutes(app: HttpApp, dependencies: DeskServiceDependencies): void {
  const { authentication, readOrder, config } = dependencies;
  const both: readonly Service[] = [
    {
      url: config.paymentUrl,
      token: config.paymentToken,
      operations: ['charge', 'refund'],
    },
    {
      url: config.inventoryUrl,
      token: config.inventoryToken,
      operations: ['reserve', 'release'],
    },
  ];
  const forOperators = { onRequest: authentication.requireOperator };

  app.get(
    '/desk/ledgers',
    {
      schema: { querystring: LedgerQuery, hide: true },
      onRequest: authentication.requireAnyone,
    },
    async (request) => {
      const { order } = await readOrder(request, request.query.orderId);
      const path = `/ledger?orderId=${order.orderId}`;
      const [paid, reserved] = await Promise.all(both.map((service) => call(service, 'GET', path)));
      return { payment: paid, inventory: reserved };
    },
  );

  app.get(
    '/desk/faults',
    { ...forOperators, schema: { querystring: NoQuery, hide: true } },
    // Both are sent the same list, and each knows what is left of its own.
    async () => {
      const lists = await Promise.all(
        both.map(async (service) => {
          const faults = (await call(service, 'GET', '/faults')) as readonly Fault[];
          return faults.filter(({ operation }) => service.operations.includes(operation));
        }),
      );
      return lists.flat();
    },
  );

  app.put(
    '/desk/faults',
    { ...forOperators, schema: { querystring: NoQuery, body: Faults, hide: true } },
    async ({ body }) => {
      await Promise.all(both.map((service) => call(service, 'PUT', '/faults', body)));
      return body;
    },
  );

  app.post(
    '/desk/faults/release',
    { ...forOperators, schema: { querystring: NoQuery, hide: true } },
    async () => {
      await Promise.all(both.map((service) => call(service, 'POST', '/faults/release')));
      return {};
    },
  );
}

async function call(
  { url, token }: Service,
  method: string,
  path: string,
  body?: unknown,
): Promise<unknown> {
  const response = await fetch(`${url}${path}`, {
    method,
    headers: {
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
    body: body === undefined ? null : JSON.stringify(body),
    signal: AbortSignal.timeout(CALL_TIMEOUT_MS),
  }).catch((cause: unknown) => {
    throw unavailable('overloaded', cause);
  });
  if (response.status === 400) throw new Problem(PROTOCOL_PROBLEMS['validation-failed']);
  if (!response.ok) throw unavailable('overloaded', `${url}${path} answered ${response.status}`);
  return response.json();
}
