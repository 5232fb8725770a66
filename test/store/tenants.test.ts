import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type pg from 'pg';
import { createClaims } from '../../src/api/idempotency/claims.js';
import type { Companion, Intent } from '../../src/api/idempotency/claims.js';
import { placeOrderOperation } from '../../src/api/place-order.js';
import type { Order } from '../../src/domain/order.js';
import { createOpenOrderStore } from '../../src/store/open-orders.js';
import { createOrderEvidence } from '../../src/store/order-evidence.js';
import { createOrderChanges } from '../../src/store/order-changes.js';
import { createOrderLists } from '../../src/store/order-lists.js';
import { createOrderStore } from '../../src/store/orders.js';
import { anOrder, workflowIdOf } from '../support/orders.js';
import { createDatabase } from '../support/postgres.js';
import type { TestDatabase } from '../support/postgres.js';

const SCOPE = 'POST:/orders';
const OWNER = 'owner';
const INTRUDER = 'intruder';

/** Statement and values, as they went to Postgres. */
interface Ran {
  readonly sql: string;
  readonly values: readonly unknown[];
}

/** An owner's order as an intruder sees it who knows all of it: ids, key and workflow. */
interface Target {
  readonly owned: Order;
  readonly workflowId: string;
  /** The same order, as the intruder would have it. */
  readonly wanted: Order;
  readonly intent: Intent;
  readonly companion: Companion;
}

type Stores = ReturnType<typeof storesOn>;

/** What an intruder gets of each method; the keys are the methods, so that none can be forgotten. */
const NOTHING: {
  readonly [Store in keyof Stores]: {
    readonly [Method in keyof Stores[Store]]: (stores: Stores, target: Target) => Promise<void>;
  };
} = {
  claims: {
    take: async ({ claims }, { intent, companion }) => {
      const claim = await claims.take(intent, ORDER_OF_INTRUDER, companion);
      assert.deepEqual(claim, { kind: 'new', resourceId: ORDER_OF_INTRUDER });
    },
    find: async ({ claims }, { intent }) => {
      assert.equal(await claims.find(intent), undefined);
    },
    adopt: ({ claims }, { intent, owned, companion }) =>
      claims.adopt(intent, owned.orderId, companion),
    release: ({ claims }, { intent, companion }) =>
      claims.release(intent, ORDER_OF_INTRUDER, companion),
  },
  orders: {
    read: async ({ orders }, { owned }) => {
      assert.equal(await orders.read(INTRUDER, owned.orderId), undefined);
    },
    decideToUndo: async ({ orders }, { wanted, workflowId }) => {
      const state = { order: wanted, workflowId, steps: [], undoneBy: workflowId };
      await assert.rejects(orders.decideToUndo(state, 'order-cancelled'));
    },
    recordAttention: ({ orders }, { wanted, workflowId }) =>
      orders.recordAttention({ order: wanted, workflowId, steps: [], undoneBy: workflowId }),
    saveOutcome: async ({ orders }, { wanted, workflowId, intent }) => {
      await assert.rejects(
        orders.saveOutcome({
          order: wanted,
          workflowId,
          steps: [],
          claim: intent,
          claimTtlSeconds: 1,
          outcome: { answerVersion: 1, status: 'confirmed' },
        }),
      );
    },
  },
  openOrders: {
    read: async ({ openOrders }, { owned }) => {
      assert.equal(await openOrders.read(INTRUDER, owned.orderId), undefined);
    },
    requestCancel: async ({ openOrders }, { owned }) => {
      assert.equal(await openOrders.requestCancel(INTRUDER, owned.orderId), undefined);
    },
    missing: async ({ openOrders }, { owned: { orderId } }) => {
      const missing = await openOrders.missing([{ tenant: INTRUDER, orderId }]);
      assert.deepEqual([...missing], [orderId]);
    },
    restore: ({ openOrders }, { wanted, workflowId, intent }) =>
      openOrders.restore(wanted, workflowId, intent),
    deleteUnused: ({ openOrders }, { owned }) => openOrders.deleteUnused(INTRUDER, owned.orderId),
    // For all tenants: by an operator's token, the reconciler and the purge. See below.
    readOfAnyTenant: () => Promise.resolve(),
    takeUntouched: () => Promise.resolve(),
    purgeClaims: () => Promise.resolve(),
    countByStatus: () => Promise.resolve(),
  },
  changes: {
    since: async ({ orders, changes }, { owned, wanted }) => {
      const row = await orders.read(OWNER, owned.orderId);
      assert.ok(row !== undefined);
      const changed = await changes.since([{ ...row, order: wanted, updatedAt: new Date(0) }]);
      assert.deepEqual([...changed], [[owned.orderId, null]]);
    },
  },
  lists: {
    page: async ({ lists }, { owned }) => {
      const filter = { tenant: INTRUDER, status: undefined, userId: undefined };
      const { orders } = await lists.page(filter, undefined, 1_000);
      assert.ok(orders.every(({ order }) => order.orderId !== owned.orderId));
    },
  },
  evidence: {
    claimsOf: async ({ evidence }, { owned }) => {
      assert.deepEqual(await evidence.claimsOf(INTRUDER, owned.orderId), []);
    },
    ordersOf: async ({ evidence }, { workflowId }) => {
      assert.deepEqual(await evidence.ordersOf(INTRUDER, workflowId), []);
    },
  },
};

/** A statement without a tenant that it names, and why: what runs for nobody in particular. */
const OF_ALL_TENANTS = ['readOfAnyTenant', 'takeUntouched', 'purgeClaims', 'countByStatus'];

const ORDER_OF_INTRUDER = 'ORD-ffffffffffffffffffffffffffffffff';

describe('every statement on claims and orders', () => {
  let database: TestDatabase;
  let ran: Ran[];
  let stores: Stores;

  before(async () => {
    database = await createDatabase('orders');
  });
  beforeEach(() => {
    ran = [];
    stores = storesOn(recording(database.pool, ran));
  });
  after(() => database.drop());

  for (const [store, methods] of Object.entries(NOTHING)) {
    for (const [method, act] of Object.entries(methods)) {
      if (OF_ALL_TENANTS.includes(method)) continue;

      it(`carries the tenant: ${store}.${method} shows an intruder nothing, and touches nothing`, async () => {
        for (const expired of [false, true]) {
          const target = await anOwnersOrder(expired);
          const before = await rowsOf(OWNER);
          ran.length = 0;

          await act(stores, target);

          assert.deepEqual(await rowsOf(OWNER), before);
          const intruding = ran.filter(({ values }) => !values.includes(OWNER));
          assert.ok(intruding.length > 0);
          for (const { sql, values } of intruding) {
            assert.match(sql, /tenant/);
            assert.ok(values.flat().includes(INTRUDER), sql);
          }
          await database.pool.query('delete from claims where tenant = $1', [INTRUDER]);
        }
      });
    }
  }

  it('that works for all tenants keeps each row to its own', async () => {
    const target = await anOwnersOrder(false);
    const { orderId } = target.owned;
    // A claim of another tenant on the same order id, which none can have.
    await stores.claims.adopt(target.intent, orderId, NO_COMPANION);
    await database.pool.query("update orders set updated_at = now() - interval '1 hour'");

    const read = await stores.openOrders.readOfAnyTenant(orderId);
    const taken = await stores.openOrders.takeUntouched(1, 1_000);

    assert.equal(read?.order.tenant, OWNER);
    const [order, ...others] = taken.filter((one) => one.order.orderId === orderId);
    assert.deepEqual([order?.order.tenant, order?.claim?.tenant, others], [OWNER, OWNER, []]);
    await database.pool.query('delete from claims where tenant = $1', [INTRUDER]);
  });

  it('that purges takes the expired claim of one tenant, and not the other’s of the same key', async () => {
    const target = await anOwnersOrder(true);
    await stores.claims.adopt(target.intent, ORDER_OF_INTRUDER, NO_COMPANION);

    while ((await stores.openOrders.purgeClaims(1)) > 0);

    assert.equal(await stores.claims.find({ ...target.intent, tenant: OWNER }), undefined);
    assert.equal((await stores.claims.find(target.intent))?.kind, 'unfinished');
    await database.pool.query('delete from claims where tenant = $1', [INTRUDER]);
  });

  it('was run by these tests, all of them', async () => {
    for (const methods of Object.values(NOTHING)) {
      for (const act of Object.values(methods)) await act(stores, await anOwnersOrder(false));
    }
    // A second look at a key whose claim of one's own has expired deletes that claim first.
    const { intent, companion } = await anOwnersOrder(true);
    await stores.claims.take({ ...intent, tenant: OWNER }, ORDER_OF_INTRUDER, companion);
    await stores.openOrders.readOfAnyTenant('');
    await stores.openOrders.takeUntouched(1, 1);
    await stores.openOrders.countByStatus();
    await stores.openOrders.purgeClaims(1);

    const written = statementsInSources();
    const missed = written.filter(({ text }) => !ran.some(({ sql }) => sql.includes(text)));

    assert.ok(written.length > 15);
    assert.deepEqual(missed, []);
  });

  /** An order of the owner with its claim; `expired`, its answer is saved and past its life. */
  async function anOwnersOrder(expired: boolean): Promise<Target> {
    const owned = anOrder({ tenant: OWNER });
    const workflowId = workflowIdOf(owned);
    const key = owned.orderId;
    const intent: Intent = {
      tenant: INTRUDER,
      scope: SCOPE,
      key,
      keyDigest: hex(key),
      requestHash: hex(`request of ${key}`),
      workflowId,
    };
    const ownersIntent = { ...intent, tenant: OWNER };
    await stores.claims.take(ownersIntent, owned.orderId, companionOf(ownersIntent));
    if (expired) {
      const outcome = { answerVersion: 1, status: 'confirmed' } as const;
      const record = { order: owned, workflowId, steps: [], claim: ownersIntent, outcome };
      await stores.orders.saveOutcome({ ...record, claimTtlSeconds: 0 });
    }
    const wanted = { ...owned, tenant: INTRUDER };
    return { owned, workflowId, wanted, intent, companion: companionOf(intent) };
  }

  async function rowsOf(tenant: string): Promise<unknown> {
    const orders = await database.pool.query(
      'select * from orders where tenant = $1 order by order_id',
      [tenant],
    );
    const claims = await database.pool.query(
      'select * from claims where tenant = $1 order by key_digest',
      [tenant],
    );
    return { orders: orders.rows, claims: claims.rows };
  }
});

describe('statements on claims and orders', () => {
  it('are in the stores only, where the tests above find them', () => {
    assert.deepEqual([...new Set(statementsInSources().map(({ file }) => file))].sort(), [
      'api/idempotency/claims.ts',
      'api/place-order.ts',
      'store/open-orders.ts',
      'store/order-changes.ts',
      'store/order-evidence.ts',
      'store/order-lists.ts',
      'store/order-rows.ts',
      'store/orders.ts',
    ]);
  });
});

/** Asks whether the tables are there. */
const READS_NO_ROW = 'api/health.ts';

const NO_COMPANION: Companion = {
  insert: () => ({ sql: () => 'select from claim', values: [] }),
  deleteUnused: () => ({ sql: () => 'select from claim', values: [] }),
};

function storesOn(pool: pg.Pool) {
  return {
    claims: createClaims(pool),
    orders: createOrderStore(pool),
    openOrders: createOpenOrderStore(pool),
    changes: createOrderChanges(pool),
    lists: createOrderLists(pool),
    evidence: createOrderEvidence(pool),
  };
}

/** The pool, with what is asked of it put on record. */
function recording(pool: pg.Pool, ran: Ran[]): pg.Pool {
  return new Proxy(pool, {
    get: (target, name: keyof pg.Pool) =>
      name !== 'query'
        ? target[name]
        : (sql: string, values: unknown[] = []) => {
            ran.push({ sql, values });
            return target.query(sql, values);
          },
  });
}

function companionOf(intent: Intent): Companion {
  const unused = {} as never;
  const dependencies = { store: unused, healer: unused, taskQueue: '', limits: unused };
  return placeOrderOperation(dependencies, intent, { userId: 'u1', amount: 1 }).companion;
}

/** Every piece of SQL in the sources that names one of the two tables, to the end of its line. */
function statementsInSources(): readonly { readonly file: string; readonly text: string }[] {
  const root = fileURLToPath(new URL('../../src', import.meta.url));
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' });
  return files
    .filter((file) => file.endsWith('.ts') && file !== READS_NO_ROW)
    .flatMap((file) =>
      [
        ...readFileSync(join(root, file), 'utf8').matchAll(
          /\b(?:from|into|update|join|using) (?:claims|orders)\b[^\n`$]*/g,
        ),
      ].map(([text]) => ({ file, text: text.trim() })),
    );
}

const hex = (text: string): string => createHash('sha256').update(text).digest('hex');
