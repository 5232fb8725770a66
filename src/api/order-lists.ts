import type { FastifyRequest } from 'fastify';
import type { HttpApp } from '../http/app.js';
import { Problem } from '../http/problem.js';
import { PROTOCOL_PROBLEMS } from '../http/protocol-problems.js';
import type { OrderLists } from '../store/order-lists.js';
import type { Authentication } from './auth.js';
import { readCursor, writeCursor } from './list-cursor.js';
import { documentOfRow } from './order-document.js';
import type { OrderDocuments } from './order-document.js';
import { DEFAULT_PAGE_SIZE, ListQuery } from './schemas.js';

export interface OrderListDependencies {
  readonly authentication: Authentication;
  readonly lists: OrderLists;
  readonly documents: OrderDocuments;
}

/** `GET /orders`: a tenant's own orders; for operators, those of all tenants that need a person. */
export function addOrderListRoutes(app: HttpApp, dependencies: OrderListDependencies): void {
  const { authentication, lists, documents } = dependencies;

  app.get(
    '/orders',
    { schema: { querystring: ListQuery }, onRequest: authentication.requireAnyone },
    async (request) => {
      const { status, userId, cursor, limit } = request.query;
      const filter = { tenant: tenantToList(authentication, request, status), status, userId };
      const after = cursor === undefined ? undefined : readCursor(cursor);
      const page = await lists.page(filter, after, Number(limit ?? DEFAULT_PAGE_SIZE));
      return {
        // From the rows alone: a list must not ask a workflow for each of its orders.
        orders: page.orders.map((row) => documentOfRow(documents, row)),
        nextCursor: page.next === undefined ? null : writeCursor(page.next),
      };
    },
  );
}

/** @returns undefined for the orders of all tenants. @throws Problem `forbidden`. */
function tenantToList(
  { operatorOf, tenantOf }: Authentication,
  request: FastifyRequest,
  status: string | undefined,
): string | undefined {
  if (operatorOf(request) === undefined) return tenantOf(request);
  if (status === 'needs_attention') return undefined;
  throw new Problem(PROTOCOL_PROBLEMS.forbidden, {
    detail: 'An operator’s token lists what needs a person: add status=needs_attention.',
  });
}
