import { createHash } from 'node:crypto';
import canonicalizeModule from 'canonicalize';

/** The types of the package promise a default export, but it exports the function itself. */
const canonicalize = canonicalizeModule as unknown as typeof canonicalizeModule.default;

/** Everything by which two requests under one key may differ. */
export interface FingerprintedRequest {
  readonly method: string;
  /** The route, not the address: `/orders`. */
  readonly route: string;
  /** The parameters that change what the request does. */
  readonly query: Readonly<Record<string, unknown>>;
  /** As sent, before any default: a later default must not change what was asked. */
  readonly body: unknown;
}

/**
 * Hex SHA-256 over the canonical form (RFC 8785) of a request: equal for equal JSON values, whatever the
 * order of their members and their white space, and different for all others. Array order counts.
 *
 * @param request holds JSON values only, as `parseJson` makes them: no lone surrogates, no unsafe numbers.
 */
export function fingerprint(request: FingerprintedRequest): string {
  const { method, route, query, body } = request;
  const text = canonicalize({ method, route, query, body });
  if (text === undefined) throw new TypeError('A request has a canonical form.');
  return createHash('sha256').update(text, 'utf8').digest('hex');
}
