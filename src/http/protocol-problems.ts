import type { ProblemType } from './problem.js';

/** Names each problem by its slug, so that a table of them is written once. */
export function problemTypes<Slug extends string>(
  table: Readonly<Record<Slug, Omit<ProblemType, 'slug'>>>,
): Readonly<Record<Slug, ProblemType>> {
  const entries = Object.entries<Omit<ProblemType, 'slug'>>(table);
  return Object.fromEntries(entries.map(([slug, type]) => [slug, { slug, ...type }])) as Readonly<
    Record<Slug, ProblemType>
  >;
}

/** The problems that any of our HTTP servers may answer, whatever it serves. */
export const PROTOCOL_PROBLEMS = problemTypes({
  'malformed-request': {
    status: 400,
    title: 'The request is not well-formed HTTP',
    detail: 'Check the request line and the headers, then send the request again.',
  },
  'malformed-json': {
    status: 400,
    title: 'The body is not acceptable JSON',
    detail: 'Send one JSON value in UTF-8, without a byte order mark and without repeated members.',
  },
  'validation-failed': {
    status: 400,
    title: 'The request does not match its schema',
    detail: 'Compare the request with /openapi.json and send it again.',
  },
  'idempotency-key-missing': {
    status: 400,
    title: 'The Idempotency-Key header is missing',
    detail:
      'Send an Idempotency-Key header that is new for each intent and the same for each retry, such as a UUID.',
  },
  'idempotency-key-invalid': {
    status: 400,
    title: 'The Idempotency-Key header is not acceptable',
    detail:
      'Send the header once, with 1 to 255 visible ASCII characters; double quotes only round the whole key.',
  },
  unauthorized: {
    status: 401,
    title: 'A valid bearer token is needed',
    detail: 'Send "Authorization: Bearer <token>" with a token of yours.',
  },
  forbidden: {
    status: 403,
    title: 'This token may not do that',
    detail: 'Use a token that has the right for this operation.',
  },
  'not-found': {
    status: 404,
    title: 'There is nothing at this address',
    detail: 'Check the path and the id; what belongs to someone else is not shown either.',
  },
  'method-not-allowed': {
    status: 405,
    title: 'This address does not take this method',
    detail: 'Use one of the methods in the Allow header.',
  },
  'request-timeout': {
    status: 408,
    title: 'The request did not arrive in time',
    detail: 'Send the whole request within ten seconds. With a key, repeat it with the same key.',
  },
  'idempotency-key-reused': {
    status: 409,
    title: 'The key was used for another request',
    detail:
      'This Idempotency-Key belongs to a request with other parameters, which is untouched. For a new intent use a new key.',
  },
  'body-too-large': {
    status: 413,
    title: 'The body is too large',
    detail: 'Send at most 64 KiB.',
  },
  'unsupported-media-type': {
    status: 415,
    title: 'The body is not in a supported form',
    detail: 'Send "Content-Type: application/json" in UTF-8, without a Content-Encoding.',
  },
  'header-too-large': {
    status: 431,
    title: 'The headers are too large',
    detail: 'Send at most 16 KiB of headers, and at most 200 of them.',
  },
  'internal-error': {
    status: 500,
    title: 'The server met an error of its own',
    detail: 'The request can be repeated with the same key. If it persists, report the request id.',
  },
  overloaded: {
    status: 503,
    title: 'The server has too much to do',
    detail: 'Repeat the request with the same key after the time in Retry-After.',
  },
  'store-unavailable': {
    status: 503,
    title: 'The database can not be reached',
    detail:
      'Nothing was decided. Repeat the request with the same key after the time in Retry-After.',
  },
});
