import { createPool } from '../postgres/pool.js';
import { seedStock } from '../services/inventory/stock.js';

/** What a newcomer's orders find: plenty, one piece to race for, and none. */
const STOCK = { DEFAULT: 1_000_000, LOW: 1, 'SOLD-OUT': 0 };

/** Fills the stock of a new inventory; what is there is left alone. */
export async function seedInventory(connectionString: string): Promise<void> {
  const pool = createPool({
    connectionString,
    max: 1,
    applicationName: 'order-saga start',
    onIdleError: () => undefined,
  });
  try {
    await seedStock(pool, STOCK);
  } finally {
    await pool.end();
  }
}
