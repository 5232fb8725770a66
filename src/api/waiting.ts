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
  return {
    untilCompleted: async (workflowId, seconds, response) => {
      if (seconds === 0 || draining.aborted || response.destroyed) return false;
      // Not AbortSignal.any: on Node 20 each use of it leaves something at the long-lived signal.
      const controller = new AbortController();
      const end = (): void => controller.abort();
      const timer = setTimeout(end, seconds * 1_000);
      draining.addEventListener('abort', end);
      response.on('close', end);
      try {
        const limitMs = seconds * 1_000 + CALL_MARGIN_MS;
        return await waitForResult(client, workflowId, controller.signal, limitMs);
      } finally {
        clearTimeout(timer);
        draining.removeEventListener('abort', end);
        response.off('close', end);
      }
    },
  };
}
