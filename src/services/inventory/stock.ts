import type pg from 'pg';
import { Problem } from '../../http/problem.js';
import { INVENTORY_PROBLEMS } from './problems.js';

export interface Item {
  readonly sku: string;
  readonly quantity: number;
}

export interface Stock {
  readonly sku: string;
  /** Units in the warehouse, the reserved ones included. */
  readonly onHand: number;
  readonly reserved: number;
  /** `onHand - reserved`, never below 0. */
  readonly available: number;
}

/**
 * Sets the stock of SKUs that have none yet, and leaves the others alone: for the first start of a
 * database, and safe at each later one.
 */
export async function seedStock(
  pool: pg.Pool,
  onHandBySku: Readonly<Record<string, number>>,
): Promise<void> {
  await pool.query(SEED, [Object.keys(onHandBySku), Object.values(onHandBySku)]);
}

export async function readStock(pool: pg.Pool, sku: string): Promise<Stock | undefined> {
  const { rows } = await pool.query<Stock>(READ, [sku]);
  return rows[0];
}

/** Sets what is on hand. @throws Problem `stock-reserved` where orders hold more than that. */
export async function setOnHand(pool: pg.Pool, sku: string, onHand: number): Promise<Stock> {
  const { rows } = await pool.query<Stock>(SET_ON_HAND, [sku, onHand]);
  if (rows[0] === undefined) throw new Problem(INVENTORY_PROBLEMS['stock-reserved']);
  return rows[0];
}

/**
 * Takes all items or none, inside a transaction of the caller.
 *
 * @returns false where one of them is not there in the wanted number; an unknown SKU never is.
 */
export async function takeStock(client: pg.PoolClient, items: readonly Item[]): Promise<boolean> {
  const available = await lockStock(client, items);
  const enough = items.every(({ sku, quantity }) => quantity <= (available.get(sku) ?? 0));
  if (enough) await client.query(MOVE_RESERVED, [skusOf(items), items.map((i) => i.quantity)]);
  return enough;
}

/** Gives all items back, inside a transaction of the caller. */
export async function returnStock(client: pg.PoolClient, items: readonly Item[]): Promise<void> {
  await lockStock(client, items);
  await client.query(MOVE_RESERVED, [skusOf(items), items.map((i) => -i.quantity)]);
}

/** Locks the rows by ascending SKU, whatever order the items are in, so that no two calls can deadlock. */
async function lockStock(
  client: pg.PoolClient,
  items: readonly Item[],
): Promise<ReadonlyMap<string, number>> {
  const { rows } = await client.query<Stock>(LOCK, [skusOf(items)]);
  return new Map(rows.map(({ sku, available }) => [sku, available]));
}

const skusOf = (items: readonly Item[]): string[] => items.map(({ sku }) => sku);

const COLUMNS = `sku, on_hand as "onHand", reserved, on_hand - reserved as available`;

const SEED = `
  insert into stock (sku, on_hand) select * from unnest($1::text[], $2::integer[])
  on conflict do nothing`;

const READ = `select ${COLUMNS} from stock where sku = $1`;

const SET_ON_HAND = `
  insert into stock (sku, on_hand) values ($1, $2)
  on conflict (sku) do update set on_hand = excluded.on_hand where stock.reserved <= excluded.on_hand
  returning ${COLUMNS}`;

const LOCK = `select ${COLUMNS} from stock where sku = any($1::text[]) order by sku for update`;

const MOVE_RESERVED = `
  update stock set reserved = reserved + item.quantity
  from unnest($1::text[], $2::integer[]) as item (sku, quantity) where stock.sku = item.sku`;
