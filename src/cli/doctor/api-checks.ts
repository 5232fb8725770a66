import { credentialOf } from '../surroundings.js';
import type { Surroundings } from '../surroundings.js';
import { CommandFailure } from '../exit-codes.js';
import { check, fail, ok, warn } from './check.js';
import type { Check, Found } from './check.js';

/** 5 s: `/readyz` bounds its own checks at two. */
const ANSWER_LIMIT_MS = 5_000;

/** 2 s: an HTTP date has whole seconds, and the way there and back takes some. */
const MAX_SKEW_MS = 2_000;

interface Seen {
  readonly status: number;
  readonly json: Readonly<Record<string, unknown>>;
  /** Of its clock against ours; undefined where it does not tell. */
  readonly skewMs: number | undefined;
}

/** The API, its token, and the two services: what they say of themselves. */
export function httpChecks(surroundings: Surroundings): readonly Promise<Check>[] {
  const { api, config } = surroundings;
  return [
    check('API', 'Start it: npm start, or npm run start:api.', () => ready(`${api}/readyz`)),
    check('token', 'See ORDER_SAGA_TOKEN.', () => token(surroundings)),
    check('payment', 'Start it, or set PAYMENT_URL.', () => ready(`${config.paymentUrl}/readyz`)),
    check('inventory', 'Start it, or set INVENTORY_URL.', () =>
      ready(`${config.inventoryUrl}/readyz`),
    ),
    check('clock of the API', 'See "API".', async () => skew(await see(`${api}/healthz`))),
  ];
}

async function ready(url: string): Promise<Found> {
  const { status, json } = await see(url);
  if (status === 200) return ok(`${url} answers 200`);
  const checks = (json['checks'] ?? []) as readonly { name: string; ok: boolean; detail: string }[];
  const unmet = checks.filter((one) => !one.ok).map((one) => `${one.name}: ${one.detail}`);
  return fail(
    `${url} answers ${status}${unmet.length === 0 ? '' : ` (${unmet.join('; ')})`}`,
    'Mend what it names; the lines below say more of each.',
  );
}

async function token(surroundings: Surroundings): Promise<Found> {
  try {
    const { name, token: secret } = credentialOf(surroundings, 'tenant');
    const { status } = await see(`${surroundings.api}/orders?limit=1`, secret);
    if (status === 200) return ok(`taken by the API${name === '' ? '' : `, tenant ${name}`}`);
    if (status === 401) {
      return fail(
        'not known to the API',
        'Make one with "npm run clients -- add", and set ORDER_SAGA_TOKEN.',
      );
    }
    return warn(`could not be tried: ${status}`, 'See "API".');
  } catch (error) {
    if (!(error instanceof CommandFailure)) throw error;
    return warn('none is set', error.todo ?? '');
  }
}

function skew({ skewMs }: Seen): Found {
  if (skewMs === undefined) return warn('its answers have no Date', 'A proxy may take it away.');
  return skewFound('the API', skewMs, MAX_SKEW_MS);
}

/** Keys expire by the clock of Postgres alone, so clocks that differ mislead people only: in logs and in the Web UI. */
export function skewFound(whose: string, skewMs: number, maxMs: number): Found {
  const seconds = (Math.abs(skewMs) / 1_000).toFixed(1);
  if (Math.abs(skewMs) <= maxMs)
    return ok(`within ${(maxMs / 1_000).toFixed(0)} s of this machine`);
  return warn(
    `${seconds} s ${skewMs > 0 ? 'ahead of' : 'behind'} this machine`,
    `Set the clocks (NTP) of this machine and of ${whose}: logs and times will not fit together.`,
  );
}

async function see(url: string, secret?: string): Promise<Seen> {
  const sentAt = Date.now();
  const response = await fetch(url, {
    headers: secret === undefined ? {} : { authorization: `Bearer ${secret}` },
    signal: AbortSignal.timeout(ANSWER_LIMIT_MS),
  }).catch((cause: unknown) => {
    throw new Error(`${url} can not be reached`, { cause });
  });
  const middle = (sentAt + Date.now()) / 2;
  const date = response.headers.get('date');
  const text = await response.text();
  return {
    status: response.status,
    json: parse(text),
    // A date is cut to its second: half a second is what it lacks on average.
    skewMs: date === null ? undefined : Date.parse(date) + 500 - middle,
  };
}

function parse(text: string): Seen['json'] {
  try {
    return JSON.parse(text) as Seen['json'];
  } catch {
    return {};
  }
}
