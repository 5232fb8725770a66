import type { TelemetryOptions } from '@temporalio/worker';
import { freePort } from '../http/free-port.js';
import type { MetricsSource } from './route.js';

/** 5 tries: a free port may be taken by another process between the look and the use. */
const MAX_TRIES = 5;

/** 1 s: it is this very process that answers. */
const TIMEOUT_MS = 1_000;

/**
 * Has the SDK count what it does, in native code, and returns what reads that.
 *
 * It serves its metrics on an address of its own only. That one is on the loopback, at any free port, and is read at a
 * scrape, so that one address tells all of a role; the SDK's buffer would bring each count through JavaScript.
 *
 * @param install takes the options; called again where the port was taken meanwhile.
 */
export async function sdkMetrics(
  install: (telemetryOptions: TelemetryOptions) => void,
): Promise<MetricsSource> {
  for (let tries = 1; ; tries += 1) {
    const bindAddress = `127.0.0.1:${await freePort()}`;
    try {
      install({
        metrics: {
          prometheus: {
            bindAddress,
            countersTotalSuffix: true,
            unitSuffix: true,
            useSecondsForDurations: true,
          },
        },
      });
    } catch (error) {
      if (tries === MAX_TRIES) throw error;
      continue;
    }
    return async () => {
      const signal = AbortSignal.timeout(TIMEOUT_MS);
      const response = await fetch(`http://${bindAddress}/metrics`, { signal });
      return response.text();
    };
  }
}
