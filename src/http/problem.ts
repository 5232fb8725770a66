import type { FastifyReply } from 'fastify';
import { countProblem } from '../metrics/http.js';

/** One kind of error answer (RFC 9457). The slug is its identity; clients branch on it, never on the text. */
export interface ProblemType {
  readonly slug: string;
  readonly status: number;
  readonly title: string;
  /** What to do next. The default; a problem may say it more exactly. */
  readonly detail: string;
}

export interface ProblemOptions {
  readonly detail?: string;
  /** Further members of the document, such as `orderId`. */
  readonly members?: Readonly<Record<string, unknown>>;
  /** Lower-case names. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly cause?: unknown;
}

/** Thrown by a route to answer with a problem; the error handler does the rest. */
export class Problem extends Error {
  readonly type: ProblemType;
  readonly detail: string;
  readonly members: Readonly<Record<string, unknown>>;
  readonly headers: Readonly<Record<string, string>>;

  constructor(type: ProblemType, options: ProblemOptions = {}) {
    super(`${type.slug}: ${options.detail ?? type.detail}`, { cause: options.cause });
    this.name = 'Problem';
    this.type = type;
    this.detail = options.detail ?? type.detail;
    this.members = options.members ?? {};
    this.headers = options.headers ?? {};
  }
}

export const PROBLEM_CONTENT_TYPE = 'application/problem+json; charset=utf-8';

/** The document of a problem, without the headers. */
export function problemBody(problem: Problem, requestId: string): string {
  const { slug, title, status } = problem.type;
  return JSON.stringify({
    type: `/problems/${slug}`,
    title,
    status,
    detail: problem.detail,
    requestId,
    ...problem.members,
  });
}

export function sendProblem(reply: FastifyReply, problem: Problem): FastifyReply {
  countProblem(problem.type);
  return (
    reply
      .code(problem.type.status)
      .headers(problem.headers)
      .header('content-type', PROBLEM_CONTENT_TYPE)
      // What went wrong once need not go wrong again, and the request id is of one request.
      .header('cache-control', 'no-store')
      .send(problemBody(problem, reply.request.id))
  );
}
