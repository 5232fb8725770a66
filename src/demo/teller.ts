import { isDeepStrictEqual } from 'node:util';
import { call } from '../api-client/http.js';
import type { Answer } from '../api-client/http.js';
import { isFinal } from '../api-client/order.js';
import type { OrderDocument } from '../api-client/order.js';
import { countsInWords, countsOf } from '../cli/explain/counts.js';
import type { Counts } from '../cli/explain/counts.js';
import type { SeenCall } from '../cli/explain/evidence.js';
import { prove } from '../cli/explain/explain.js';
import { ledgerLines } from '../cli/explain/show.js';
import { credentialOf } from '../cli/surroundings.js';
import type { Terminal } from '../cli/terminal.js';
import { until } from './stage.js';
import type { Stage } from './stage.js';

/** What a scene does and says. Every claim that it makes is held against the answers and the ledgers. */
export interface Teller {
  readonly title: (text: string) => void;
  readonly say: (text: string) => void;
  readonly post: (body: object, key: string, prefer?: string) => Promise<Answer>;
  /** As a tenant or an operator. */
  readonly send: (path: string, body?: object) => Promise<Answer>;
  /** Says what was found; where it is not what is expected, that too, and the demo has failed. */
  readonly expect: (what: string, found: unknown, expected: unknown) => void;
  /** Shows the ledgers of an order, and holds them against what they should count and against all other records. */
  readonly books: (orderId: string, expected: Partial<Counts>) => Promise<void>;
  readonly ended: (orderId: string) => Promise<OrderDocument>;
  readonly untilStatus: (orderId: string, status: string) => Promise<void>;
  readonly faults: (service: 'payment' | 'inventory', faults: readonly object[]) => Promise<void>;
  /** Lets go the calls that a service holds. @returns how many. */
  readonly release: (service: 'payment' | 'inventory') => Promise<number>;
  readonly calls: (orderId: string) => Promise<readonly SeenCall[]>;
  readonly stage: Stage;
}

export interface Tally {
  readonly wrong: readonly string[];
  readonly total: Counts;
}

const NOTHING: Counts = {
  orders: 0,
  charges: 0,
  refunds: 0,
  reservations: 0,
  releases: 0,
  chargesBarred: 0,
  reservationsBarred: 0,
};

export function createTeller(stage: Stage, { out, paint }: Terminal) {
  const { surroundings } = stage;
  const { api: base } = surroundings;
  const tenant = credentialOf(surroundings, 'tenant').token;
  const operator = credentialOf(surroundings, 'operator').token;
  const wrong: string[] = [];
  const counted = new Map<string, Counts>();
  let titles = 0;

  const say = (text: string): void => out(`   ${text}`);
  const expect: Teller['expect'] = (what, found, expected) => {
    if (isDeepStrictEqual(found, expected)) {
      say(`${paint('green', '✓')} ${what}`);
      return;
    }
    const line = `${what}: found ${JSON.stringify(found)}, expected ${JSON.stringify(expected)}`;
    wrong.push(line);
    say(paint('red', `✗ ${line}`));
  };
  const read = async (orderId: string): Promise<OrderDocument> =>
    (await call(`/orders/${orderId}`, { base, token: tenant })).json as unknown as OrderDocument;

  const teller: Teller = {
    stage,
    say,
    expect,
    title: (text) => {
      titles += 1;
      out('');
      out(paint('bold', `${titles}. ${text}`));
    },
    post: (body, key, prefer = 'wait=30') =>
      call('/orders', {
        base,
        token: tenant,
        method: 'POST',
        body,
        headers: { 'idempotency-key': key, prefer },
      }),
    send: (path, body) =>
      call(path, {
        base,
        token: path.includes('/undo/') ? operator : tenant,
        method: 'POST',
        ...(body !== undefined && { body }),
      }),
    books: async (orderId, expected) => {
      const { evidence, contradictions } = await prove(surroundings, orderId, {});
      for (const name of ['payment', 'inventory'] as const) {
        for (const line of ledgerLines(evidence[name].ledger, name)) say(line);
      }
      const counts = countsOf(evidence);
      counted.set(orderId, counts);
      expect(countsInWords(counts), counts, { ...NOTHING, orders: 1, ...expected });
      if (contradictions.length > 0) expect('no record contradicts another', contradictions, []);
    },
    ended: async (orderId) => {
      let order = await read(orderId);
      await until(`${orderId} has ended`, async () => {
        order = await read(orderId);
        return isFinal(order);
      });
      return order;
    },
    untilStatus: (orderId, status) =>
      until(`${orderId} is ${status}`, async () => (await read(orderId)).status === status),
    faults: async (service, faults) => {
      await ask(service, '/faults', { method: 'PUT', body: JSON.stringify(faults) });
    },
    release: async (service) => {
      const answer = await ask(service, '/faults/release', { method: 'POST', body: '{}' });
      return (answer as { readonly released: number }).released;
    },
    calls: async (orderId) => {
      const seen = await ask('payment', `/calls?orderId=${orderId}`, {});
      return seen as readonly SeenCall[];
    },
  };
  return { teller, tally };

  /** The services stand for other teams: with a token of theirs where they demand one. */
  async function ask(
    service: 'payment' | 'inventory',
    path: string,
    init: { readonly method?: string; readonly body?: string },
  ): Promise<unknown> {
    const { paymentUrl, inventoryUrl, paymentToken, inventoryToken } = surroundings.config;
    const [url, token] =
      service === 'payment' ? [paymentUrl, paymentToken] : [inventoryUrl, inventoryToken];
    const response = await fetch(`${url}${path}`, {
      ...init,
      headers: {
        ...(init.body !== undefined && { 'content-type': 'application/json' }),
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
      },
    });
    if (!response.ok) throw new Error(`${url}${path} answered ${response.status}.`);
    return response.json();
  }

  /** What all orders of the demo come to. */
  function tally(): Tally {
    const total: { -readonly [Name in keyof Counts]: number } = { ...NOTHING };
    for (const counts of counted.values()) {
      for (const name of Object.keys(total) as (keyof Counts)[]) {
        total[name] += counts[name];
      }
    }
    return { wrong, total };
  }
}
