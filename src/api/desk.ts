import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { HttpApp } from '../http/app.js';
import { Problem } from '../http/problem.js';
import { PROTOCOL_PROBLEMS } from '../http/protocol-problems.js';

/** Where `npm run build` puts the page, seen from the sources as well as from what is built of them. */
const FOLDER = new URL('../../dist/desk/', import.meta.url);

/** All that there is: no path of a request ever becomes a path of a file. */
const FILES: Readonly<Record<string, { readonly file: string; readonly type: string }>> = {
  '/': { file: 'index.html', type: 'text/html; charset=utf-8' },
  '/desk/desk.js': { file: 'desk.js', type: 'text/javascript; charset=utf-8' },
  '/desk/desk.css': { file: 'desk.css', type: 'text/css; charset=utf-8' },
  '/desk/icon.svg': { file: 'icon.svg', type: 'image/svg+xml' },
};

const HEADERS = {
  // Asked each time, and answered 304 where nothing changed: a page and its script are of one release.
  'cache-control': 'no-cache',
  // Everything from here, nothing inline, nobody's frame: what gets into the page can neither load nor send.
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
};

interface Asset {
  readonly body: Buffer;
  readonly etag: string;
}

/** The order desk, a page at `/`. It holds no data and no token: it calls the API as any client does. */
export function addDeskRoutes(app: HttpApp): void {
  for (const [url, { file, type }] of Object.entries(FILES)) {
    let reading: Promise<Asset> | undefined;
    app.get(url, { schema: { hide: true } }, async (request, reply) => {
      reading ??= readAsset(file);
      const asset = await reading.catch((cause: unknown) => {
        reading = undefined;
        throw new Problem(PROTOCOL_PROBLEMS['not-found'], {
          detail: 'The order desk is not built: run npm run build.',
          cause,
        });
      });
      return sendAsset(request, reply, asset, type);
    });
  }
}

async function readAsset(file: string): Promise<Asset> {
  const body = await readFile(new URL(file, FOLDER));
  return { body, etag: `"${createHash('sha256').update(body).digest('base64url')}"` };
}

function sendAsset(
  request: FastifyRequest,
  reply: FastifyReply,
  { body, etag }: Asset,
  type: string,
): FastifyReply {
  void reply.headers({ ...HEADERS, etag });
  const isKnown = request.headers['if-none-match']?.includes(etag) === true;
  return isKnown ? reply.code(304).send() : reply.type(type).send(body);
}
