import { randomUUID } from 'node:crypto';
import type { Answer } from '../api-client/http.js';
import { OUTCOME_PROBLEMS } from '../domain/outcome.js';
import { apiFor, ask, refused, slugOf } from './api.js';
import type { Context } from './api.js';
import { EXIT } from './exit-codes.js';
import type { ExitCode } from './exit-codes.js';
import { paintedStatus } from './order-text.js';
import type { Terminal } from './terminal.js';

export interface Submission {
  readonly user: string;
  /** Minor units. */
  readonly amount: number;
  readonly currency?: string;
  readonly item?: readonly { readonly sku: string; readonly quantity: number }[];
  readonly paymentMethod?: string;
  /** The client's key; a new one where it is left out. */
  readonly key?: string;
  /** How long to wait for the order's end; 0 for not at all. */
  readonly wait: number;
}

const OUTCOME_SLUGS: ReadonlySet<string> = new Set(
  Object.values(OUTCOME_PROBLEMS).map(({ slug }) => slug),
);

/** `submit`: places an order, or asks again for what became of it. */
export async function submit(context: Context, submission: Submission): Promise<ExitCode> {
  const { terminal } = context;
  const { key = randomUUID(), wait } = submission;
  const api = await apiFor(context, 'tenant');
  // Before the order is sent: whoever loses the answer needs the key to ask for it again.
  if (submission.key === undefined) terminal.note(`Idempotency-Key: ${key}`);
  if (wait > 0) terminal.note(`Waiting for the order’s end, ${wait} s at most …`);
  const answer = await ask(api, '/orders', {
    method: 'POST',
    body: bodyOf(submission),
    headers: { 'idempotency-key': key, prefer: wait > 0 ? `wait=${wait}` : 'respond-async' },
    waitSeconds: wait,
  });
  const isOutcome = OUTCOME_SLUGS.has(slugOf(answer.json));
  if (answer.status >= 400 && !isOutcome) throw refused(api, answer);
  show(terminal, key, answer);
  if (isOutcome) return EXIT.notThrough;
  return answer.status === 202 && wait > 0 ? EXIT.unfinished : EXIT.done;
}

function bodyOf({ user, amount, currency, item, paymentMethod }: Submission): object {
  return {
    userId: user,
    amount,
    ...(currency !== undefined && { currency }),
    ...(item !== undefined && { items: item }),
    ...(paymentMethod !== undefined && { paymentMethod }),
  };
}

function show(terminal: Terminal, key: string, { status, headers, json }: Answer): void {
  const isReplayed = headers.get('idempotent-replayed') === 'true';
  if (terminal.json) {
    terminal.out(JSON.stringify({ key, httpStatus: status, replayed: isReplayed, answer: json }));
    return;
  }
  const { out, note, paint } = terminal;
  const orderId = String(json['orderId']);
  const slug = slugOf(json);
  const word = paintedStatus(
    terminal,
    status === 201 ? 'confirmed' : status === 202 ? 'processing' : 'cancelled',
  );
  out(`${paint('bold', orderId)}  ${word}${slug === '' ? '' : `, ${slug}`}`);
  if (slug !== '') {
    out(`  ${String(json['title'])}.`);
    out(`  ${String(json['detail'])}`);
  }
  out(`  key       ${key}`);
  out(`  workflow  ${String(json['sagaId'])}`);
  if (isReplayed) out('  replayed  the key was there already: this is the answer of its order');
  note(
    status === 202
      ? `It goes on. Next: order-saga watch ${orderId}`
      : `The proof: order-saga explain ${orderId}`,
  );
}
