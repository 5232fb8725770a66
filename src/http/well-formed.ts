import type { IncomingMessage } from 'node:http';
import { Problem } from './problem.js';
import { PROTOCOL_PROBLEMS } from './protocol-problems.js';

/** 200: four times what browsers and proxies send together; Node counts no more than their letters. */
const MAX_HEADERS = 200;

/** RFC 3986, 3.2.2 and 3.2.3, without a user: a name, an IPv4 or a bracketed IPv6 address, perhaps a port. */
const HOST = /^(?:[A-Za-z0-9\-._~!$&'()*+,;=%]*|\[[0-9A-Fa-f:.]+\])(?::[0-9]*)?$/;

/** A path, or the whole address, which RFC 9112, 3.2.2 has every server take; `*` is for OPTIONS only. */
const TARGET = /^(?:\/|https?:\/\/[^/?#]+)[^#]*$/i;

/**
 * Refuses a request whose head Node's parser has let through, but which we do not read.
 *
 * Where one request ends and the next begins may then be another question than we think, so its connection ends.
 *
 * @returns Problem `malformed-request` or `header-too-large`; undefined where the head is in order.
 */
export function refusalOf(request: IncomingMessage): Problem | undefined {
  const headers = { connection: 'close' };
  if (request.rawHeaders.length / 2 > MAX_HEADERS)
    return new Problem(PROTOCOL_PROBLEMS['header-too-large'], { headers });
  const detail = malformation(request);
  if (detail === undefined) return undefined;
  return new Problem(PROTOCOL_PROBLEMS['malformed-request'], { detail, headers });
}

/**
 * What of a request is not well-formed HTTP; undefined where nothing is.
 *
 * Each of these is read in two ways by two programs, such as a proxy before us and us: where one request ends
 * and the next begins, or whom it is for. What is not read at all can't be read in two ways.
 */
function malformation(request: IncomingMessage): string | undefined {
  const { httpVersion, headers, method, url = '' } = request;
  if (httpVersion !== '1.1' && httpVersion !== '1.0') return 'Send HTTP/1.1 or HTTP/1.0.';
  if (!TARGET.test(url) && !(url === '*' && method === 'OPTIONS'))
    return 'The request target is neither a path nor an address, or has a fragment.';
  // RFC 9112, 3.2: a request of HTTP/1.1 names its host, and every request names one at most.
  const hosts = rawValues(request, 'host');
  if (hosts.length > 1 || (hosts.length === 0 && httpVersion === '1.1'))
    return 'Send one Host header.';
  if (!HOST.test(hosts[0] ?? '')) return 'The Host header names no host.';
  // RFC 9112, 6.1: of HTTP/1.0 its framing is faulty; a coding that we do not undo would reach the JSON parser.
  const coding = headers['transfer-encoding'];
  if (coding !== undefined && (coding.toLowerCase() !== 'chunked' || httpVersion === '1.0'))
    return 'Send no Transfer-Encoding but chunked, and none in HTTP/1.0.';
  // RFC 9110, 10.1.1: the only expectation there is; that of HTTP/1.0 is to be ignored.
  const { expect } = headers;
  if (expect !== undefined && expect.toLowerCase() !== '100-continue' && httpVersion === '1.1')
    return 'Expect nothing but 100-continue.';
  return undefined;
}

/** The values of a header, one for each time that it was sent: Node joins repeats, or keeps the first. */
export function rawValues({ rawHeaders }: IncomingMessage, name: string): readonly string[] {
  return rawHeaders.filter(
    (_, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === name,
  );
}
