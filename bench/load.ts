import { Agent, request } from 'node:http';
import { randomUUID } from 'node:crypto';

/** One request of a scenario, and the status that it must be answered with. */
export interface Shot {
  readonly key: string;
  readonly body: string;
  readonly status: number;
}

export interface Target {
  readonly url: string;
  readonly token: string;
}

export interface Answer {
  readonly status: number;
  readonly replayed: boolean;
  readonly body: string;
}

export interface Driven {
  readonly seconds: number;
  /** Of each answer, in the order in which they came. */
  readonly milliseconds: readonly number[];
  readonly answers: readonly Answer[];
}

export interface LoadOptions {
  readonly inFlight: number;
  /** How long new requests are made; those under way are waited for. */
  readonly seconds: number;
  /** Ends sooner after so many. */
  readonly maxRequests?: number;
  readonly next: () => Shot;
  readonly signal: AbortSignal;
}

const ORDER = JSON.stringify({ userId: 'bench', amount: 1000 });
const SOLD_OUT = JSON.stringify({
  userId: 'bench',
  amount: 1000,
  items: [{ sku: 'SOLD-OUT', quantity: 1 }],
});

export const anOrder = (): Shot => ({ key: randomUUID(), body: ORDER, status: 201 });
export const aFailingOrder = (): Shot => ({ key: randomUUID(), body: SOLD_OUT, status: 422 });

/**
 * Keeps so many requests under way, each client sending its next one when it has the answer to the one before.
 *
 * @throws Error at the first answer that is not the expected one: what loses promises is not measured.
 */
export async function drive(target: Target, options: LoadOptions): Promise<Driven> {
  const agent = new Agent({ keepAlive: true, maxSockets: options.inFlight });
  const milliseconds: number[] = [];
  const answers: Answer[] = [];
  let left = options.maxRequests ?? Infinity;
  const begun = performance.now();
  const until = begun + options.seconds * 1_000;
  const client = async (): Promise<void> => {
    while (left > 0 && performance.now() < until) {
      options.signal.throwIfAborted();
      left -= 1;
      const shot = options.next();
      const sentAt = performance.now();
      const answer = await post(target, agent, shot);
      milliseconds.push(performance.now() - sentAt);
      if (answer.status !== shot.status) {
        throw new Error(`answered ${answer.status} instead of ${shot.status}: ${answer.body}`);
      }
      answers.push(answer);
    }
  };
  try {
    await Promise.all(Array.from({ length: options.inFlight }, client));
  } finally {
    agent.destroy();
  }
  return { seconds: (performance.now() - begun) / 1_000, milliseconds, answers };
}

/** Node's own client: the least work on the machine that it shares with what it measures. */
export function post({ url, token }: Target, agent: Agent, shot: Shot): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sending = request(
      `${url}/orders`,
      {
        agent,
        method: 'POST',
        headers: {
          authorization: `Bearer ${token}`,
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(shot.body),
          'idempotency-key': shot.key,
          // Ours answers 202 after ten seconds otherwise; the peers wait as long as it takes.
          prefer: 'wait=60',
        },
      },
      (response) => {
        let body = '';
        response.setEncoding('utf8');
        response.on('data', (chunk: string) => (body += chunk));
        response.on('error', reject);
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            replayed: response.headers['idempotent-replayed'] === 'true',
            body,
          }),
        );
      },
    );
    sending.on('error', reject);
    sending.end(shot.body);
  });
}

/** The value below which so much of them lies. @param part 0–1 */
export function percentile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? NaN;
}
