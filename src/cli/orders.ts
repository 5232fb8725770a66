import { changes, isFinal, timeOf } from '../api-client/order.js';
import type { OrderDocument } from '../api-client/order.js';
import { CallError } from '../api-client/http.js';
import { watchOrder } from '../api-client/watch-order.js';
import { apiFor, demand } from './api.js';
import type { Context } from './api.js';
import { CommandFailure, EXIT } from './exit-codes.js';
import type { ExitCode } from './exit-codes.js';
import { listLines, orderLines, paintedStatus } from './order-text.js';

interface AsOperator {
  /** Whether an operator asks, who may read the orders of all tenants. */
  readonly operator?: boolean;
}

const callerOf = ({ operator }: AsOperator) => (operator === true ? 'operator' : 'tenant');

const pathOf = (orderId: string): string => `/orders/${encodeURIComponent(orderId)}`;

/** `status`: where an order stands. */
export async function status(
  context: Context,
  orderId: string,
  options: AsOperator,
): Promise<ExitCode> {
  const { terminal } = context;
  const api = await apiFor(context, callerOf(options));
  const order = (await demand(api, pathOf(orderId))) as unknown as OrderDocument;
  if (terminal.json) terminal.out(JSON.stringify(order));
  else for (const line of orderLines(terminal, order)) terminal.out(line);
  return EXIT.done;
}

/** `watch`: follows an order to its end, over as many connections as that takes. */
export async function watch(
  context: Context,
  orderId: string,
  options: AsOperator,
): Promise<ExitCode> {
  const { terminal, interrupted } = context;
  const api = await apiFor(context, callerOf(options));
  // Asked for first: an unknown order is told as a problem, and an API that is away is not waited for.
  let last = (await demand(api, pathOf(orderId))) as unknown as OrderDocument;
  show(undefined, last);
  if (!isFinal(last)) await follow();
  if (!isFinal(last))
    throw new CommandFailure(EXIT.interrupted, 'Ended by ctrl-c; the order goes on.');
  return last.status === 'confirmed' ? EXIT.done : EXIT.notThrough;

  function show(before: OrderDocument | undefined, after: OrderDocument): void {
    if (terminal.json) {
      if (before?.updatedAt !== after.updatedAt || changes(before, after).length > 0) {
        terminal.out(JSON.stringify(after));
      }
      return;
    }
    if (before === undefined) {
      terminal.out(`${terminal.paint('bold', orderId)}  ${paintedStatus(terminal, after.status)}`);
    }
    const at = timeOf(after.updatedAt);
    for (const change of changes(before, after)) terminal.out(`  ${at}  ${change}`);
  }

  async function follow(): Promise<void> {
    terminal.note('Watching until the order has ended; ctrl-c stops the watching only.');
    await watchOrder(
      { orderId, token: api.token, base: api.base },
      {
        onDocument: (document) => {
          show(last, document);
          last = document;
        },
        onLink: (link) => {
          if (link === 'lost') terminal.note('The connection is lost; trying again …');
        },
      },
      interrupted,
    ).catch((error: unknown) => {
      if (!(error instanceof CallError)) throw error;
      throw new CommandFailure(EXIT.refused, error.message);
    });
  }
}

/** `cancel`: asks for an order to be undone. */
export async function cancel(context: Context, orderId: string): Promise<ExitCode> {
  const { terminal } = context;
  const api = await apiFor(context, 'tenant');
  const answer = await demand(api, `${pathOf(orderId)}/cancel`, { method: 'POST' });
  if (terminal.json) {
    terminal.out(JSON.stringify(answer));
    return EXIT.done;
  }
  const hasEnded = answer['status'] === 'cancelled';
  terminal.out(
    hasEnded
      ? `${orderId} is cancelled.`
      : `${orderId}: the cancel is taken. It ends cancelled or, where it was past its last step, confirmed.`,
  );
  if (!hasEnded) terminal.note(`Next: order-saga watch ${orderId}`);
  return EXIT.done;
}

export interface ListOptions extends AsOperator {
  readonly status?: string;
  readonly user?: string;
  readonly limit?: number;
  readonly cursor?: string;
}

/** `list`: a tenant's orders, newest first; for operators, those of all tenants that need a person. */
export async function list(context: Context, options: ListOptions): Promise<ExitCode> {
  const { terminal } = context;
  const api = await apiFor(context, callerOf(options));
  const query = new URLSearchParams();
  const wanted = {
    status: options.status ?? (options.operator === true ? 'needs_attention' : undefined),
    userId: options.user,
    limit: options.limit?.toString(),
    cursor: options.cursor,
  };
  for (const [name, value] of Object.entries(wanted)) {
    if (value !== undefined) query.set(name, value);
  }
  const page = (await demand(api, `/orders?${query.toString()}`)) as unknown as {
    readonly orders: readonly OrderDocument[];
    readonly nextCursor: string | null;
  };
  if (terminal.json) {
    terminal.out(JSON.stringify(page));
    return EXIT.done;
  }
  if (page.orders.length === 0) terminal.note('There are no such orders.');
  else for (const line of listLines(terminal, page.orders)) terminal.out(line);
  if (page.nextCursor !== null) {
    terminal.note(`There are more: the same command with --cursor ${page.nextCursor}`);
  }
  return EXIT.done;
}
