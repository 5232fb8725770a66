import type { OpenAPIV3_1 } from 'openapi-types';
import { ALL_PROBLEMS } from '../problems.js';
import { EXAMPLE_ORDER_ID, EXAMPLE_SAGA_ID, HEADERS } from './components.js';
import type { AnswerName, HeaderName } from './components.js';
import { headersOfProblem, isOutcome } from './problem-documents.js';

type Response = OpenAPIV3_1.ResponseObject;
export type Responses = Readonly<Record<string, Response>>;

/** A header that is always there, or, with a question mark, one that may be. */
export type Header = HeaderName | `${HeaderName}?`;

/** What can be done next with an order that an answer names. */
const linksTo = (
  operationIds: readonly string[],
  orderId: string,
): Record<string, OpenAPIV3_1.LinkObject> =>
  Object.fromEntries(
    operationIds.map((operationId) => [operationId, { operationId, parameters: { orderId } }]),
  );

const ORDER_LINKS = linksTo(['readOrder', 'watchOrder', 'cancelOrder'], '$response.body#/orderId');

const NEXT = ['watchOrder', 'cancelOrder', 'retryUndo', 'resolveUndo'];
export const LINKS_OF_ORDER = linksTo(NEXT, '$response.body#/orderId');
export const LINKS_OF_LIST = linksTo(['readOrder', ...NEXT], '$response.body#/orders/0/orderId');

/** An answer in JSON. */
export function answer(
  description: string,
  schema: AnswerName,
  headers: readonly Header[] = [],
  links?: Record<string, OpenAPIV3_1.LinkObject>,
): Response {
  const media = { schema: { $ref: `#/components/schemas/${schema}` } };
  const answered = response(description, headers, { 'application/json': media });
  return links === undefined ? answered : { ...answered, links };
}

/** An answer of server-sent events; the schema is that of each. */
export function eventAnswer(description: string, headers: readonly Header[] = []): Response {
  const media = { schema: { $ref: '#/components/schemas/OrderEvent' } };
  return response(description, headers, { 'text/event-stream': media });
}

/** An answer of plain text. */
export function textAnswer(description: string, headers: readonly Header[] = []): Response {
  return response(description, headers, { 'text/plain': { schema: { type: 'string' } } });
}

/** An answer without a body. */
export const emptyAnswer = (description: string, headers: readonly Header[] = []): Response =>
  response(description, headers);

/** An answer that names an order, from where a client goes on to read or cancel it. */
export function orderAnswer(
  description: string,
  schema: AnswerName,
  status: string,
  headers: readonly Header[],
): Response {
  const media = {
    schema: { $ref: `#/components/schemas/${schema}` },
    example: { orderId: EXAMPLE_ORDER_ID, sagaId: EXAMPLE_SAGA_ID, status },
  };
  const answered = response(description, headers, { 'application/json': media });
  return { ...answered, links: ORDER_LINKS };
}

/** The answers that are problems: one a status, with each of its problems as a schema and as an example. */
export function problems(slugs: readonly string[]): Responses {
  const byStatus = new Map<number, string[]>();
  for (const slug of slugs) {
    const status = ALL_PROBLEMS.get(slug)?.status;
    if (status === undefined) throw new TypeError(`There is no problem "${slug}".`);
    byStatus.set(status, [...(byStatus.get(status) ?? []), slug]);
  }
  return Object.fromEntries(
    [...byStatus].map(([status, ofStatus]) => [String(status), problemResponse(ofStatus)]),
  );
}

function problemResponse(slugs: readonly string[]): Response {
  const refs = slugs.map((slug) => ({ $ref: `#/components/schemas/${slug}` }));
  const [only] = refs;
  const media: OpenAPIV3_1.MediaTypeObject = {
    schema: refs.length === 1 && only !== undefined ? only : { oneOf: refs },
    examples: Object.fromEntries(
      slugs.map((slug) => [slug, { $ref: `#/components/examples/${slug}` }]),
    ),
  };
  const description = slugs.map((slug) => ALL_PROBLEMS.get(slug)?.title).join('. Or: ');
  const answered = response(description, headersOfAll(slugs), {
    'application/problem+json': media,
  });
  return slugs.every(isOutcome) ? { ...answered, links: ORDER_LINKS } : answered;
}

/** A header that only some problems of a status have may be missing from an answer of that status. */
function headersOfAll(slugs: readonly string[]): readonly Header[] {
  const ofEach = slugs.map((slug) => headersOfProblem(slug));
  return [...new Set(ofEach.flat())].map((name) =>
    name.endsWith('?') || ofEach.every((headers) => headers.includes(name))
      ? name
      : (`${name}?` as Header),
  );
}

function response(
  description: string,
  headers: readonly Header[],
  content?: Response['content'],
): Response {
  return {
    description,
    headers: Object.fromEntries(
      ['X-Request-Id' as const, ...headers].map((header) => {
        const required = !header.endsWith('?');
        const name = header.replace(/\?$/, '') as HeaderName;
        return [name, { ...HEADERS[name], required }];
      }),
    ),
    ...(content && { content }),
  };
}
