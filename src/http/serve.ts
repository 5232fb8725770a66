import type { FastifyBaseLogger } from 'fastify';
import type { HttpApp } from './app.js';

export interface ServeOptions {
  readonly host: string;
  readonly port: number;
  /** The environment variable that sets the port, for the message when it is taken. */
  readonly portVariable: string;
  /** Closes what the routes use, after the last request. */
  readonly close: () => Promise<void>;
  /** Called at the first signal, before the server closes: lets waiting requests end. */
  readonly drain?: () => void;
  /** From the first signal to a hard exit. */
  readonly delayMs?: number;
}

/** 15 s from the first signal to a hard exit: above one step's time limit, below an orchestrator's usual 30 s. */
export const SHUTDOWN_DELAY_MS = 15_000;

/**
 * Listens until a signal comes, then finishes the requests it has and closes.
 *
 * @throws Error with one line that names the variable to set when the port is in use.
 */
export async function serve(app: HttpApp, options: ServeOptions): Promise<void> {
  const { host, port, portVariable } = options;
  try {
    await app.listen({ host, port });
  } catch (error) {
    await options.close();
    throw portInUse(error, host, port, portVariable);
  }
  closeOnSignal(
    app.log,
    async () => {
      options.drain?.();
      await app.close();
      await options.close();
    },
    options.delayMs,
  );
}

/**
 * Runs `close` once, at the first signal or unexpected error, and ends the process.
 *
 * A second signal changes nothing: a terminal's ctrl-c reaches the whole process group, and npm and the
 * launcher pass it on again, so a drain would be cut short by its own first signal. (`close-with-grace`
 * exits at the second one whatever it is told.)
 *
 * @param delayMs from the first signal to a hard exit.
 */
export function closeOnSignal(
  logger: FastifyBaseLogger,
  close: () => Promise<void>,
  delayMs = SHUTDOWN_DELAY_MS,
): void {
  let closing = false;
  const end = (exitCode: number): void => {
    if (closing) return;
    closing = true;
    setTimeout(() => {
      logger.fatal(`still busy after ${delayMs} ms: giving up`);
      process.exit(1);
    }, delayMs).unref();
    close().then(
      () => {
        logger.info('stopped');
        process.exit(exitCode);
      },
      (err: unknown) => {
        logger.fatal({ err }, 'could not stop cleanly');
        process.exit(1);
      },
    );
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      logger.info({ signal }, closing ? 'already shutting down' : 'shutting down');
      end(0);
    });
  }
  for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
    process.on(event, (err: unknown) => {
      logger.fatal({ err }, 'unexpected error: shutting down');
      end(1);
    });
  }
}

function portInUse(error: unknown, host: string, port: number, variable: string): unknown {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code !== 'EADDRINUSE') return error;
  return new Error(`${host}:${port} is in use: set ${variable} to a free port.`, { cause: error });
}
