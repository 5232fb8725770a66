/** What a service is asked for, and how it answers: enough to tell whether a saga can rest on it. */
export interface Contract {
  readonly forward: {
    readonly path: string;
    /** Without the order id. */
    readonly body: Readonly<Record<string, unknown>>;
    /** The same request with one parameter changed. */
    readonly otherBody: Readonly<Record<string, unknown>>;
    /** A request that the service says no to; undefined where it never does. */
    readonly refusedBody: Readonly<Record<string, unknown>> | undefined;
  };
  readonly undo: {
    readonly path: string;
    /** The member that names the forward key; the forward answer has it too. */
    readonly keyMember: string;
    /** The `outcome` of the call that undid, and of each that came later. */
    readonly undone: string;
    readonly alreadyUndone: string;
  };
  /** An address that lists the effects of `?orderId=`; undefined where there is none to look at. */
  readonly ledgerPath: string | undefined;
}

const PAYMENT = { amount: 1000, currency: 'JPY', paymentMethod: 'pm_ok' };
const RESERVATION = { items: [{ sku: 'DEFAULT', quantity: 1 }] };

/** The contracts of the two services that come with the product. */
export const CONTRACTS = {
  payment: {
    forward: {
      path: '/charges',
      body: PAYMENT,
      otherBody: { ...PAYMENT, amount: 2000 },
      refusedBody: { ...PAYMENT, paymentMethod: 'pm_declined' },
    },
    undo: {
      path: '/refunds',
      keyMember: 'chargeKey',
      undone: 'refunded',
      alreadyUndone: 'already-refunded',
    },
    ledgerPath: '/ledger',
  },
  inventory: {
    forward: {
      path: '/reservations',
      body: RESERVATION,
      otherBody: { items: [{ sku: 'DEFAULT', quantity: 2 }] },
      refusedBody: { items: [{ sku: 'SOLD-OUT', quantity: 1 }] },
    },
    undo: {
      path: '/releases',
      keyMember: 'reservationKey',
      undone: 'released',
      alreadyUndone: 'already-released',
    },
    ledgerPath: '/ledger',
  },
} as const satisfies Readonly<Record<string, Contract>>;
