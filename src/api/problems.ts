import { Type } from 'typebox';
import { OUTCOME_PROBLEMS } from '../domain/outcome.js';
import type { HttpApp } from '../http/app.js';
import { Problem } from '../http/problem.js';
import type { ProblemType } from '../http/problem.js';
import { PROTOCOL_PROBLEMS, problemTypes } from '../http/protocol-problems.js';

/** The problems of this API that are neither the protocol's nor the end of an order. */
export const API_PROBLEMS = problemTypes({
  'card-data-refused': {
    status: 400,
    title: 'The request holds what looks like a card number',
    detail:
      'Never send card numbers. Have the payment provider make a token and send that as paymentMethod.',
  },
  'request-in-progress': {
    status: 409,
    title: 'The request with this key is still being worked on',
    detail:
      'Repeat the request with the same key after the time in Retry-After, with "Prefer: wait=60" to wait for its answer, or read the address in Location.',
  },
  'order-not-cancellable': {
    status: 409,
    title: 'The order can not be cancelled any more',
    detail: 'The order is confirmed. Read it at its address; a return is a matter of its own.',
  },
  'undo-not-stuck': {
    status: 409,
    title: 'This undo does not need a person',
    detail:
      'Read the order: only an undo whose compensationState is "stuck" can be retried or resolved.',
  },
  'rate-limited': {
    status: 429,
    title: 'There were too many requests',
    detail: 'Repeat the request with the same key after the time in Retry-After.',
  },
  'engine-unavailable': {
    status: 503,
    title: 'The workflow engine can not be reached',
    detail:
      'The order is kept and may yet start. Repeat the request with the same key after the time in Retry-After to get its answer.',
  },
});

const OUTCOMES: Readonly<Record<string, ProblemType>> = Object.fromEntries(
  Object.values(OUTCOME_PROBLEMS).map(({ slug, status, title, detail }) => [
    slug,
    { slug, status, title, detail },
  ]),
);

/** Every problem that this API may answer, by slug. */
export const ALL_PROBLEMS: ReadonlyMap<string, ProblemType> = new Map(
  Object.entries({ ...PROTOCOL_PROBLEMS, ...API_PROBLEMS, ...OUTCOMES }),
);

/** Any text: what is no slug of ours is an address with nothing at it. */
const ProblemParams = Type.Object({ slug: Type.String({ examples: [...ALL_PROBLEMS.keys()] }) });

/** `GET /problems/<slug>`: what the `type` of a problem points to. */
export function addProblemRoutes(app: HttpApp): void {
  app.get('/problems/:slug', { schema: { params: ProblemParams } }, (request, reply) => {
    const type = ALL_PROBLEMS.get(request.params.slug);
    if (type === undefined) throw new Problem(PROTOCOL_PROBLEMS['not-found']);
    const { slug, status, title, detail } = type;
    return reply.send({ type: `/problems/${slug}`, status, title, detail });
  });
}
