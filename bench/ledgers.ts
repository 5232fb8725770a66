import pg from 'pg';
import type { Answer } from './load.js';
import type { System } from './systems/system.js';

/** What the two services must have in their books after all that was answered. */
export class Ledgers {
  readonly #system: System;
  readonly #confirmed = new Set<string>();
  readonly #undone = new Set<string>();

  constructor(system: System) {
    this.#system = system;
  }

  /** Takes note of answers to orders that are no replays. */
  expect({ answers }: { readonly answers: readonly Answer[] }): void {
    for (const { status, body } of answers) {
      const { orderId } = JSON.parse(body) as { orderId: string };
      const orders = status === 201 ? this.#confirmed : this.#undone;
      if (orders.has(orderId)) throw new Error(`two keys got the order ${orderId}`);
      orders.add(orderId);
    }
  }

  /**
   * Each confirmed order has one charge and one reservation that stand, each other one a charge that was refunded;
   * and there is nothing else.
   *
   * @throws Error that says what is wrong.
   */
  async check(): Promise<void> {
    const charges = await rows(this.#system.paymentUrl, CHARGES);
    const reservations = await rows(this.#system.inventoryUrl, RESERVATIONS);
    const both = [...this.#confirmed, ...this.#undone];
    equal(
      'charges',
      charges.map(({ id }) => id),
      both,
    );
    equal('refunds', undone(charges), [...this.#undone]);
    equal(
      'reservations',
      reservations.map(({ id }) => id),
      [...this.#confirmed],
    );
    equal('releases', undone(reservations), []);
  }
}

interface Line {
  readonly id: string;
  readonly undone: boolean;
}

const undone = (lines: readonly Line[]): string[] =>
  lines.filter((line) => line.undone).map(({ id }) => id);

function equal(what: string, found: readonly string[], expected: readonly string[]): void {
  const [have, want] = [found.toSorted(), expected.toSorted()];
  if (have.length === want.length && have.every((id, index) => id === want[index])) return;
  throw new Error(`${what}: ${have.length} in the ledger, ${want.length} by the answers`);
}

async function rows(connectionString: string, sql: string): Promise<readonly Line[]> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  try {
    return (await client.query<Line>(sql)).rows;
  } finally {
    await client.end();
  }
}

const CHARGES = `
  select c.order_id as id, r.charge_key is not null as undone
  from charges c left join refunds r using (charge_key) where c.kind = 'charge'`;

const RESERVATIONS = `
  select c.order_id as id, r.reservation_key is not null as undone
  from reservations c left join releases r using (reservation_key) where c.kind = 'reservation'`;
