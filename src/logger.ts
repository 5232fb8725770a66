import { pino, stdSerializers } from 'pino';
import type { DestinationStream, Logger } from 'pino';

/**
 * One JSON line an event, on standard output unless told otherwise. Tokens, keys and bodies are not logged, nor let
 * through by accident.
 */
export function createLogger(
  role: string,
  level: string,
  destination: DestinationStream = pino.destination(1),
): Logger {
  const options = {
    name: `order-saga ${role}`,
    level,
    serializers: { err: errorForLog, error: errorForLog },
    redact: {
      paths: ['*.authorization', '*["idempotency-key"]', 'req.headers', 'body'],
      censor: '[redacted]',
    },
  };
  return pino(options, destination);
}

/** Of an error what tells its kind: a driver's further members may hold a whole row, key and user included. */
function errorForLog(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const { type, message, stack, code } = stdSerializers.err(error);
  return { type, message, stack, ...(typeof code === 'string' && { code }) };
}
