import { randomUUID } from 'node:crypto';
import bodies from './bodies.json' with { type: 'json' };
import keys from './keys.json' with { type: 'json' };
import requests from './requests.json' with { type: 'json' };

/**
 * What a client, a proxy, a bug or an attacker may put on the wire, with the answer that it gets: for the tests of
 * the parts that read it and for a raw socket alike.
 *
 * Its texts hold `{{text*n}}` for n times the text, where `%` in the text counts from 0; `{{key}}` for a key that
 * is new for each request; `{{token}}` for the token.
 */

/** Values of the `Idempotency-Key` header, one a line; a character is a byte. */
export interface KeyCase {
  readonly what: string;
  readonly values: readonly string[];
  /** The key that is read. */
  readonly reads?: string;
  /** The slug of the problem that is answered, by whoever looks at the key. */
  readonly refused?: string;
  /** What is answered where HTTP itself does not carry such a value. */
  readonly onTheWire?: string;
}

/** Bodies of `POST /orders`; one that is not refused places an order. */
export interface BodyCase {
  readonly what: string;
  /** Sent in UTF-8. */
  readonly body?: string;
  /** Instead: a character is a byte. */
  readonly bytes?: string;
  readonly refused?: string;
  /** Who refuses it: the JSON parser, the schema with the rules behind it, or the server that counts bytes. */
  readonly by?: string;
}

/** Whole requests: that of an order, but for what they name. A character is a byte. */
export interface RequestCase {
  readonly what: string;
  /** The request line. */
  readonly line?: string;
  /** By lower-case name; null leaves the header out. */
  readonly headers?: Readonly<Record<string, string | null | undefined>>;
  /** Header lines behind the others. */
  readonly more?: readonly string[];
  readonly body?: string;
  /** Instead of all that. */
  readonly raw?: string;
  /** What follows at once on the same connection. */
  readonly then?: string;
  /** Status, and slug where it is a problem, of every answer on the connection. */
  readonly answers: readonly string[];
  /** Places one order. */
  readonly accepted?: boolean;
  /** The client ends its side at once. */
  readonly end?: boolean;
  /** The client leaves out the rest, for longer than it may take. */
  readonly slow?: boolean;
  /** It sends this every half second instead. */
  readonly drip?: string;
  /** The answer comes before the request is whole, so the connection serves no other. */
  readonly unfinished?: boolean;
}

export const KEY_CASES: readonly KeyCase[] = keys;
export const BODY_CASES: readonly BodyCase[] = bodies;
export const REQUEST_CASES: readonly RequestCase[] = requests;

const STATUSES: Readonly<Record<string, number>> = { 'body-too-large': 413 };

/** The answer to a refused key or body. */
export const answerOf = (slug: string): string => `${STATUSES[slug] ?? 400} ${slug}`;

/** 36 letters: digits would pass for a card number now and then. */
export const newKey = (): string =>
  randomUUID().replace(/[0-9]/g, (digit) => 'ghijklmnop'[Number(digit)] ?? '');

export function expand(text: string, names: { readonly key?: string; readonly token?: string }) {
  return text
    .replaceAll('{{key}}', names.key ?? 'k')
    .replaceAll('{{token}}', names.token ?? '')
    .replaceAll(/\{\{([^]*?)\*(\d+)\}\}/g, (_, part: string, times: string) =>
      Array.from({ length: Number(times) }, (_none, index) =>
        part.replace('%', String(index)),
      ).join(''),
    );
}

export function bytesOf({ body = '', bytes }: BodyCase): Buffer {
  return bytes === undefined ? Buffer.from(expand(body, {})) : Buffer.from(bytes, 'latin1');
}

/** The bytes of a request. A body that is not text in Latin-1 is given as bytes. */
export function requestOf(
  request: Omit<RequestCase, 'what' | 'answers' | 'body'> & { readonly body?: string | Buffer },
  names: { readonly key: string; readonly token: string },
): Buffer {
  const { line = 'POST /orders HTTP/1.1', headers = {}, more = [], raw, then = '' } = request;
  const { body = '{"userId":"u1","amount":1000}' } = request;
  const latin1 = (text: string): Buffer => Buffer.from(expand(text, names), 'latin1');
  if (raw !== undefined) return latin1(raw + then);
  const content = typeof body === 'string' ? latin1(body) : body;
  const all: Record<string, string | null | undefined> = {
    host: 'x',
    authorization: 'Bearer {{token}}',
    'content-type': 'application/json',
    'idempotency-key': '{{key}}',
    'content-length': String(content.length),
    ...headers,
  };
  const lines = Object.entries(all).flatMap(([name, value]) =>
    value === null || value === undefined ? [] : [`${name}: ${value}`],
  );
  const head = [line, ...lines, ...more, '', ''].join('\r\n');
  return Buffer.concat([latin1(head), content, latin1(then)]);
}
