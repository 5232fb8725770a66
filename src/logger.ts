import { pino } from 'pino';
import type { Logger } from 'pino';

/** One JSON line an event on standard output. Tokens, keys and bodies are not logged, nor let through by accident. */
export function createLogger(role: string, level: string): Logger {
  return pino({
    name: `order-saga ${role}`,
    level,
    redact: {
      paths: ['*.authorization', '*["idempotency-key"]', 'req.headers', 'body'],
      censor: '[redacted]',
    },
  });
}
