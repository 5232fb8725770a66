import { STATUS_CODES } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { RETRY_AFTER_SECONDS } from '../http/app.js';
import type { HttpApp } from '../http/app.js';
import { readIdempotencyKey } from '../http/idempotency-key.js';
import { Problem } from '../http/problem.js';
import { serviceCalls } from '../metrics/services.js';
import type { Call, CallLog } from './call-log.js';
import type { AppliedFault, Faults, Operation } from './faults.js';

/** What a call did and what it answers. A refusal is thrown, as a Problem, and has no effect. */
export interface Effect {
  readonly status: number;
  readonly body: object;
  /** Whether this call, not an earlier one, wrote a line of the ledger. */
  readonly effect: boolean;
}

/** A state-changing call, once its body is known to be valid. */
export interface KeyedCall {
  readonly operation: Operation;
  readonly orderId: string;
  /** Does the work under the key. Any interleaving with other calls must be safe. */
  readonly run: (key: string) => Promise<Effect>;
}

export type AnswerKeyedCall = (
  request: FastifyRequest,
  reply: FastifyReply,
  call: KeyedCall,
) => Promise<unknown>;

/**
 * Makes the one way by which both services answer a state-changing call: the key is read, the call is
 * put on record, a fault befalls it where one is set, and what became of it is logged in one line.
 *
 * @param faults undefined where no faults may be injected.
 */
export function createKeyedCalls(
  app: HttpApp,
  callLog: CallLog,
  faults: Faults | undefined,
): AnswerKeyedCall {
  const callOf = new WeakMap<FastifyRequest, Call>();
  // Before the answer leaves, or would leave had its client not gone: whoever asks then finds the status there.
  app.addHook('onSend', (request, reply, payload, done) => {
    const call = callOf.get(request);
    if (call !== undefined) {
      call.status = reply.statusCode;
      tell(request, call);
    }
    done(null, payload);
  });

  return async (request, reply, { operation, orderId, run }) => {
    const key = readIdempotencyKey(request.raw);
    const call = callLog.record(operation, key, orderId);
    callOf.set(request, call);
    const fault = faults?.take(operation, orderId);
    if (fault?.kind === 'error-before') throw injectedError(fault.status);
    if (fault?.kind === 'drop-before') return cut(request, reply, call);

    const takeEffect = async (): Promise<Effect> => {
      const effect = await run(key);
      call.effect = effect.effect;
      return effect;
    };
    if (faults === undefined || fault === undefined) return send(reply, await takeEffect());
    return answerLate(faults, fault, takeEffect, {
      send: (effect) => send(reply, effect),
      cut: () => cut(request, reply, call),
    });
  };
}

/** The faults that let the effect happen and then spoil, or hold up, the answer. */
async function answerLate(
  faults: Faults,
  fault: AppliedFault,
  takeEffect: () => Promise<Effect>,
  end: { readonly send: (effect: Effect) => unknown; readonly cut: () => unknown },
): Promise<unknown> {
  if (fault.kind === 'hold') {
    const held = await faults.hold();
    try {
      return held.end === 'closed' ? end.cut() : end.send(await takeEffect());
    } finally {
      held.done();
    }
  }
  // A refusal is no effect, but its answer is lost or late all the same.
  const [settled] = await Promise.allSettled([takeEffect()]);
  if (fault.kind === 'drop-after') return end.cut();
  if (fault.kind === 'delay-after') await faults.delay(fault.delayMs);
  if (settled.status === 'rejected') throw settled.reason;
  return end.send(settled.value);
}

function send(reply: FastifyReply, { status, body }: Effect): FastifyReply {
  return reply.code(status).send(body);
}

/** Cuts the connection without an answer. */
function cut(request: FastifyRequest, reply: FastifyReply, call: Call): FastifyReply {
  tell(request, call);
  reply.hijack();
  request.raw.socket.destroy();
  return reply;
}

function tell(request: FastifyRequest, call: Call): void {
  const { operation, orderId, effect, status } = call;
  serviceCalls.inc({ operation, effect: String(effect), status: status ?? 'cut' });
  request.log.info({ operation, orderId, effect, status }, 'call');
}

function injectedError(status: number): Problem {
  const title = `Injected: ${STATUS_CODES[status] ?? 'error'}`;
  const detail = 'A fault was set for this call, which had no effect. Repeat it with the same key.';
  return new Problem(
    { slug: 'injected-fault', status, title, detail },
    status === 429 || status === 503
      ? { headers: { 'retry-after': String(RETRY_AFTER_SECONDS) } }
      : {},
  );
}
