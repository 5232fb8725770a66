import type { OpenAPIV3_1 } from 'openapi-types';
import { OUTCOME_PROBLEMS, answerOf } from '../../domain/outcome.js';
import type { CancelReason } from '../../domain/outcome.js';
import { Problem, problemBody } from '../../http/problem.js';
import type { ProblemType } from '../../http/problem.js';
import { ALL_PROBLEMS } from '../problems.js';
import { EXAMPLE_ORDER_ID, EXAMPLE_SAGA_ID, orderId, sagaId } from './components.js';
import type { Header } from './responses.js';

const EXAMPLE_REQUEST_ID = '0b8f6d1e-3c57-4f0a-9d24-7e5a1c2b3d4f';

/** Refusals of a request that name its order. */
const WITH_ORDER = ['engine-unavailable', 'order-not-cancellable', 'undo-not-stuck'];

/** Headers of problems beyond those that all have; those of an outcome come with each final answer. */
const OUTCOME_HEADERS = ['Location', 'Idempotent-Replayed?', 'Preference-Applied?'] as const;
const PROBLEM_HEADERS: Readonly<Record<string, readonly Header[]>> = {
  unauthorized: ['WWW-Authenticate'],
  'method-not-allowed': ['Allow'],
  'request-in-progress': ['Location', 'Retry-After'],
  'rate-limited': ['Retry-After'],
  overloaded: ['Retry-After'],
  'store-unavailable': ['Retry-After'],
  'engine-unavailable': ['Location', 'Retry-After'],
};

export function headersOfProblem(slug: string): readonly Header[] {
  const own = isOutcome(slug) ? OUTCOME_HEADERS : (PROBLEM_HEADERS[slug] ?? []);
  return ['Cache-Control', ...own];
}

/** The schema of each problem, by slug. */
export const problemSchemas = (): Record<string, OpenAPIV3_1.SchemaObject> =>
  Object.fromEntries([...ALL_PROBLEMS.values()].map((type) => [type.slug, schemaOf(type)]));

/** Each problem as it is answered, by slug. */
export const problemExamples = (): Record<string, OpenAPIV3_1.ExampleObject> =>
  Object.fromEntries(
    [...ALL_PROBLEMS.values()].map((type) => [
      type.slug,
      { summary: type.title, value: JSON.parse(exampleOf(type)) as unknown },
    ]),
  );

function schemaOf({ slug, status, title }: ProblemType): OpenAPIV3_1.SchemaObject {
  const properties: Record<string, OpenAPIV3_1.SchemaObject> = {
    type: { type: 'string', const: `/problems/${slug}`, description: 'Branch on this.' },
    title: { type: 'string', description: 'For people; it may change.' },
    status: { type: 'integer', const: status },
    detail: { type: 'string', description: 'What to do next.' },
  };
  if (isOutcome(slug)) {
    // Replayed byte for byte, hence without the id of a request.
    if (OUTCOME_PROBLEMS[slug].final) properties['final'] = { type: 'boolean', const: true };
    Object.assign(properties, { orderId, sagaId });
  } else {
    properties['requestId'] = { type: 'string', format: 'uuid' };
    if (WITH_ORDER.includes(slug)) Object.assign(properties, { orderId });
  }
  return { title, type: 'object', required: Object.keys(properties), properties };
}

function exampleOf(type: ProblemType): string {
  if (isOutcome(type.slug)) {
    const outcome = { answerVersion: 1, status: 'cancelled', reason: type.slug } as const;
    return answerOf(outcome, EXAMPLE_ORDER_ID, EXAMPLE_SAGA_ID).body;
  }
  const members = WITH_ORDER.includes(type.slug) ? { orderId: EXAMPLE_ORDER_ID } : {};
  return problemBody(new Problem(type, { members }), EXAMPLE_REQUEST_ID);
}

export const isOutcome = (slug: string): slug is CancelReason => slug in OUTCOME_PROBLEMS;
