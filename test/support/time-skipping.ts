import { Connection } from '@temporalio/client';
import type { ConnectionLike } from '@temporalio/client';
import type { temporal } from '@temporalio/proto';

type StartRequest = temporal.api.workflowservice.v1.IStartWorkflowExecutionRequest;

/** A client's connection through which every started workflow skips time: see `skipTime`. */
export async function timeSkippingConnection(address: string): Promise<Connection> {
  return skipTime(await Connection.connect({ address }));
}

/**
 * Makes every workflow that is started through this connection skip time: a timer it waits for fires at
 * once, as long as no activity of it runs. So tests use the product's own start, and run side by side.
 *
 * The server skips time per workflow and on request; the SDK's client does not offer the field yet.
 *
 * @param connection to a dev server started with time skipping enabled, as `sharedTemporal` is.
 */
export function skipTime<T extends ConnectionLike>(connection: T): T {
  const service = connection.workflowService;
  const start = service.startWorkflowExecution.bind(service) as (
    request: StartRequest,
    ...rest: unknown[]
  ) => unknown;
  Object.defineProperty(service, 'startWorkflowExecution', {
    value: (request: StartRequest, ...rest: unknown[]) =>
      start({ ...request, timeSkippingConfig: { enabled: true } }, ...rest),
  });
  return connection;
}
