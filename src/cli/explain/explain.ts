import { setTimeout as sleep } from 'node:timers/promises';
import { digestOf, workflowIdFor } from '../../api/idempotency/key.js';
import { isOrderId } from '../../api/order-id.js';
import { repairWorkflowId } from '../../domain/place-order.js';
import { createPool, isDatabaseUnavailable, isUndefinedTable } from '../../postgres/pool.js';
import { required } from '../../config.js';
import { createOpenOrderStore } from '../../store/open-orders.js';
import { createOrderEvidence } from '../../store/order-evidence.js';
import type { OrderRow } from '../../store/order-rows.js';
import { connectTemporal, temporalConfig } from '../../temporal/connect.js';
import type { Context } from '../api.js';
import { CommandFailure, EXIT } from '../exit-codes.js';
import type { ExitCode } from '../exit-codes.js';
import { credentialOf, findSurroundings } from '../surroundings.js';
import type { Surroundings } from '../surroundings.js';
import { contradictionsIn } from './contradictions.js';
import { countsInWords, countsOf } from './counts.js';
import { readService, readWorkflow } from './evidence.js';
import type { Evidence } from './evidence.js';
import { evidenceLines } from './show.js';

/** The operation that the keys of orders belong to. */
const SCOPE = 'POST:/orders';

/** An order that ends while its records are read shows them torn: three looks, half a second apart. */
const MAX_LOOKS = 3;
const NEXT_LOOK_MS = 500;

export interface ExplainOptions {
  /** Whose key it is; left out, that of the token. */
  readonly tenant?: string;
}

/** What all records together say of an order. */
export interface Proof {
  readonly evidence: Evidence;
  readonly contradictions: readonly string[];
}

/** `explain`: what was done for one order or under one key, by every record there is of it. */
export async function explain(
  { env, terminal }: Context,
  orderOrKey: string,
  options: ExplainOptions,
): Promise<ExitCode> {
  const surroundings = await findSurroundings(env);
  if (surroundings.stackFolder !== undefined) {
    terminal.note(`Using the stack on ${surroundings.stackFolder}.`);
  }
  terminal.note('Reading the claim, the workflow and both ledgers …');
  const proof = await prove(surroundings, orderOrKey, options);
  const { evidence, contradictions } = proof;
  const isSound = contradictions.length === 0;
  if (terminal.json) {
    const counts = countsOf(evidence);
    terminal.out(JSON.stringify({ ...evidence, counts, contradictions, isSound }));
  } else {
    const { out, paint } = terminal;
    for (const line of evidenceLines(terminal, evidence)) out(line);
    for (const line of contradictions) out(paint('red', `CONTRADICTION: ${line}.`));
    out('');
    const counts = countsInWords(countsOf(evidence));
    out(
      isSound
        ? paint('green', counts)
        : paint('red', `${counts}: ${contradictions.length} contradictions`),
    );
  }
  return isSound ? EXIT.done : EXIT.unsound;
}

/** @throws CommandFailure where there is no such order, or a server is away. */
export async function prove(
  surroundings: Surroundings,
  orderOrKey: string,
  options: ExplainOptions,
): Promise<Proof> {
  const { config, env } = surroundings;
  const pool = createPool({
    connectionString: required('DATABASE_URL', config.databaseUrl),
    max: 2,
    applicationName: 'order-saga explain',
    onIdleError: () => undefined,
  });
  const temporal = connectTemporal(temporalConfig(env));
  const look = async (): Promise<Proof> => {
    const evidence = await readEvidence();
    return { evidence, contradictions: contradictionsIn(evidence) };
  };
  try {
    let proof = await look();
    for (let looks = 1; looks < MAX_LOOKS && proof.contradictions.length > 0; looks += 1) {
      await sleep(NEXT_LOOK_MS);
      proof = await look();
    }
    return proof;
  } finally {
    await Promise.all([pool.end(), temporal.close()]);
  }

  async function readEvidence(): Promise<Evidence> {
    const store = createOrderEvidence(pool);
    const order = await reach('Postgres', findOrder());
    const { orderId, tenant } = order.order;
    const [orders, claims, workflow, repair, payment, inventory] = await Promise.all([
      reach('Postgres', store.ordersOf(tenant, order.workflowId)),
      reach('Postgres', store.claimsOf(tenant, orderId)),
      reach('Temporal', readWorkflow(temporal.client, order.workflowId)),
      reach('Temporal', readWorkflow(temporal.client, repairWorkflowId(orderId))),
      reach(
        'payment',
        readService({ baseUrl: config.paymentUrl, token: config.paymentToken }, orderId),
      ),
      reach(
        'inventory',
        readService({ baseUrl: config.inventoryUrl, token: config.inventoryToken }, orderId),
      ),
    ]);
    const others = orders.filter((other) => other.order.orderId !== orderId);
    return { order, others, claims, workflow, repair, payment, inventory };
  }

  async function findOrder(): Promise<OrderRow> {
    if (isOrderId(orderOrKey)) {
      const order = await createOpenOrderStore(pool).readOfAnyTenant(orderOrKey);
      if (order !== undefined) return order;
    }
    const tenant = options.tenant ?? credentialOf(surroundings, 'tenant').name;
    const workflowId = workflowIdFor('order-', { tenant, scope: SCOPE, key: orderOrKey });
    const [newest] = await createOrderEvidence(pool).ordersOf(tenant, workflowId);
    if (newest !== undefined) return newest;
    throw new CommandFailure(
      EXIT.refused,
      `There is no order ${orderOrKey}, and tenant "${tenant}" has used no such key.`,
      {
        todo: `The key's digest is ${digestOf(orderOrKey)}. For the key of another tenant add --tenant <name>.`,
      },
    );
  }
}

/** A server that can't be asked is named, as there is no proof without it. */
async function reach<T>(name: string, asking: Promise<T>): Promise<T> {
  try {
    return await asking;
  } catch (error) {
    if (error instanceof CommandFailure) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    if (name === 'Postgres' && !isDatabaseUnavailable(error) && !isUndefinedTable(error))
      throw error;
    throw new CommandFailure(EXIT.unreachable, `There is no proof without ${name}: ${reason}`, {
      todo: 'See what is wrong with "order-saga doctor".',
    });
  }
}
