import type { IncomingMessage } from 'node:http';
import { Problem } from './problem.js';
import { PROTOCOL_PROBLEMS } from './protocol-problems.js';
import { rawValues } from './well-formed.js';

/** 255: what Stripe takes, and what clients therefore send. Quotes on the wire do not count. */
const MAX_KEY_LENGTH = 255;

/** Visible ASCII but the double quote, which only encloses a whole key. */
const KEY = /^[\x21\x23-\x7e]+$/;

/**
 * Reads the `Idempotency-Key` of a request.
 *
 * `"k"`, the structured-field form of draft-ietf-httpapi-idempotency-key-header-07, and the bare `k` that
 * most clients send are one key. Repeats are counted on the raw headers: Node joins them to `a, b`, which
 * looks like a third key.
 *
 * @throws Problem `idempotency-key-missing` or `idempotency-key-invalid`.
 */
export function readIdempotencyKey(request: IncomingMessage): string {
  const values = rawValues(request, 'idempotency-key');
  const [value] = values;
  if (value === undefined) throw new Problem(PROTOCOL_PROBLEMS['idempotency-key-missing']);
  // Blanks and tabs only, which are no part of a header's value: trim() would take U+00A0 as well.
  const key = unquote(value.replace(/^[ \t]+|[ \t]+$/g, ''));
  if (values.length > 1 || key.length > MAX_KEY_LENGTH || !KEY.test(key)) {
    throw new Problem(PROTOCOL_PROBLEMS['idempotency-key-invalid']);
  }
  return key;
}

const unquote = (value: string): string =>
  value.length >= 2 && value.startsWith('"') && value.endsWith('"') ? value.slice(1, -1) : value;
