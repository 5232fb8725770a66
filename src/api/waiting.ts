import type { ServerResponse } from 'node:http';
import type { Client } from '@temporalio/client';
import { waitForResult } from './idempotency/start-once.js';

/** 1 s beyond the wait, for a call that the end of the wait did not reach. */
const CALL_MARGIN_MS = 1_000;

export interface Waiting {
  /**
   * Waits for the end of a workflow.
   *
   * @param seconds 0 does not wait at all.
   * @param response a client that goes away is not waited for.
   * @returns whether the workflow completed; false at the end of the time, and at once in a drain.
   */
  readonly untilCompleted: (
    workflowId: string,
    seconds: number,
    response: ServerResponse,
  ) => Promise<boolean>;
}

/**
 * Holds requests that wait for their workflow.
 *
 * @param draining comes when the process is to stop: every waiting request is then answered at once.
 */
export function createWaiting(client: Client, draining: AbortSignal): Waiting {
  const waits = new Set<AbortController>();
  // One listener for all: a signal that lives as long as the process must not gather one a request.
  draining.addEventListener('abort', () => {
    for (const wait of waits) wait.abort();
  });
  return {
    untilCompleted: async (workflowId, seconds, response) => {
      if (seconds === 0 || draining.aborted || response.destroyed) return false;
      const wait = new AbortController();
      const end = (): void => wait.abort();
      const timer = setTimeout(end, seconds * 1_000);
      waits.add(wait);
      response.on('close', end);
      try {
        const limitMs = seconds * 1_000 + CALL_MARGIN_MS;
        return await waitForResult(client, workflowId, wait.signal, limitMs);
      } finally {
        clearTimeout(timer);
        waits.delete(wait);
        response.off('close', end);
      }
    },
  };
}
