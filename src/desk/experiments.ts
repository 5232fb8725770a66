import { need } from '../api-client/http.js';

/** A fault that the downstream services are told to have. */
export interface Fault {
  readonly operation: 'charge' | 'refund' | 'reserve' | 'release';
  readonly fault: string;
  readonly orderId?: string;
  readonly times?: number;
  readonly status?: number;
}

/** A way for an order to go, to be chosen before it is placed. */
export interface Experiment {
  readonly id: string;
  readonly label: string;
  readonly tells: string;
  /** Members of the body. */
  readonly body?: Readonly<Record<string, unknown>>;
  /** Set before the order is placed; without `times` it is then kept for that order alone. */
  readonly fault?: Fault;
}

const SOLD_OUT = { items: [{ sku: 'SOLD-OUT', quantity: 1 }] };

export const EXPERIMENTS: readonly [Experiment, ...Experiment[]] = [
  { id: 'ok', label: 'Goes through', tells: 'Charged, reserved, confirmed.' },
  {
    id: 'declined',
    label: 'Declined',
    tells: 'The payment is refused; nothing is to be undone.',
    body: { paymentMethod: 'pm_declined' },
  },
  {
    id: 'sold-out',
    label: 'Sold out',
    tells: 'Charged, then the goods are refused: the charge is refunded.',
    body: SOLD_OUT,
  },
  {
    id: 'lost-answer',
    label: 'Lost answer',
    tells:
      'The charge happens and its answer is lost: asked again under the same key, charged once.',
    fault: { operation: 'charge', fault: 'drop-after', times: 1 },
  },
  {
    id: 'held-charge',
    label: 'Held charge',
    tells:
      'The charge gives no answer until it is released. Cancel the order meanwhile, or release it.',
    fault: { operation: 'charge', fault: 'hold' },
  },
  {
    id: 'poison-undo',
    label: 'Poison undo',
    tells: 'Sold out, and the refund is refused for good: the order needs a person.',
    body: SOLD_OUT,
    fault: { operation: 'refund', fault: 'error-before', status: 400 },
  },
];

const isSame = (one: Fault, other: Fault): boolean =>
  one.operation === other.operation && one.fault === other.fault && one.orderId === other.orderId;

export const readFaults = (token: string): Promise<readonly Fault[]> =>
  need<readonly Fault[]>('/desk/faults', { token });

async function changeFaults(
  token: string,
  change: (faults: readonly Fault[]) => readonly Fault[],
): Promise<void> {
  const left = (await readFaults(token)).filter(({ times }) => times !== 0);
  await need('/desk/faults', { method: 'PUT', token, body: change(left) });
}

export const setFault = (token: string, fault: Fault): Promise<void> =>
  changeFaults(token, (faults) => [...faults, fault]);

/** Binds a fault that befell every order to the one it was meant for. */
export const keepFor = (token: string, fault: Fault, orderId: string): Promise<void> =>
  changeFaults(token, (faults) =>
    faults.map((one) => (isSame(one, fault) ? { ...one, orderId } : one)),
  );

/** Heals the services for one order, and lets go what they hold. */
export async function healFor(token: string, orderId: string): Promise<void> {
  await changeFaults(token, (faults) => faults.filter((one) => one.orderId !== orderId));
  await need('/desk/faults/release', { method: 'POST', token });
}
