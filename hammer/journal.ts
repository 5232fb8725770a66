import { createWriteStream } from 'node:fs';
import { once } from 'node:events';

/** What a client can ask of the product; `by-hand` is an operator who settles an undo with the service itself. */
export type RequestKind =
  'place' | 'cancel' | 'read' | 'retry-undo' | 'resolve-undo' | 'by-hand' | 'malformed';

export interface Invoke {
  readonly type: 'invoke';
  readonly id: number;
  readonly request: RequestKind;
  readonly tenant: string;
  /** Of a place: the client's key, the intent in canonical form, and what it asks for. */
  readonly key?: string;
  readonly intent?: string;
  readonly amount?: number;
  readonly mayConfirm?: boolean;
  /** Of all others. */
  readonly orderId?: string;
  readonly step?: string;
  /** The key that goes downstream, of `by-hand`. */
  readonly downstreamKey?: string;
}

/** An answer, with the headers that are part of the contract. */
export interface Answered {
  readonly type: 'ok';
  readonly id: number;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** `fail`: it surely was not taken. `info`: nobody knows; never counted as failed. */
export interface Unanswered {
  readonly type: 'fail' | 'info';
  readonly id: number;
  readonly why: string;
}

export interface FaultEdge {
  readonly type: 'fault';
  readonly edge: 'start' | 'end';
  /** The class and, behind a colon, whom it befell. */
  readonly name: string;
  /** Orders whose clients had no final answer at that moment. */
  readonly inFlight: number;
}

export interface PaymentLine {
  readonly kind: 'charge' | 'refund' | 'void';
  readonly key: string;
  readonly orderId: string;
  readonly amount: number;
  readonly currency: string | null;
  readonly createdAt: string;
}

export interface InventoryLine {
  readonly kind: 'reserve' | 'release' | 'void';
  readonly key: string;
  readonly orderId: string;
  readonly items: readonly { readonly sku: string; readonly quantity: number }[];
  readonly createdAt: string;
}

export interface Stock {
  readonly sku: string;
  readonly onHand: number;
  readonly reserved: number;
  readonly available: number;
}

/** `GET /orders/{orderId}`, as far as the checker reads it. */
export interface OrderDocument {
  readonly orderId: string;
  readonly sagaId: string;
  readonly status: string;
  readonly userId: string | null;
  readonly amount: number;
  readonly reason: string | null;
  readonly steps: readonly {
    readonly name: string;
    readonly compensationState: string;
  }[];
}

export type Entry =
  | {
      readonly type: 'plan';
      readonly seed: string;
      readonly minutes: number;
      readonly attentionAfterMs: number;
    }
  | { readonly type: 'phase'; readonly name: string }
  | Invoke
  | Answered
  | Unanswered
  | FaultEdge
  /** An order that had not ended when all faults were healed and the time to recover was over. */
  | { readonly type: 'unfinished'; readonly orderId: string; readonly status: string }
  /** What the last look at an order gave, with the token of the tenant that placed it and with another's. */
  | {
      readonly type: 'order';
      readonly orderId: string;
      readonly tenant: string;
      readonly status: number;
      readonly statusForOthers: number;
      readonly document: OrderDocument | undefined;
    }
  | { readonly type: 'payment-ledger'; readonly lines: readonly PaymentLine[] }
  | { readonly type: 'inventory-ledger'; readonly lines: readonly InventoryLine[] }
  | { readonly type: 'stock'; readonly stock: readonly Stock[] };

/** An entry and when it was made, in ms since the run began. */
export type Timed<E> = E & { readonly atMs: number };
export type Journal = readonly Timed<Entry>[];

/** What happened, in order: kept for the checker, and written line by line so that a crash leaves it. */
export interface Recorder {
  readonly record: (entry: Entry) => void;
  readonly nextId: () => number;
  readonly entries: Journal;
  readonly close: () => Promise<void>;
}

export function openJournal(path: string): Recorder {
  const stream = createWriteStream(path);
  const begun = performance.now();
  const entries: Timed<Entry>[] = [];
  let lastId = 0;
  return {
    entries,
    nextId: () => (lastId += 1),
    record: (entry) => {
      const timed = { atMs: Math.round(performance.now() - begun), ...entry };
      entries.push(timed);
      stream.write(`${JSON.stringify(timed)}\n`);
    },
    close: async () => {
      stream.end();
      await once(stream, 'finish');
    },
  };
}
