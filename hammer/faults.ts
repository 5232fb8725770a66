import { setTimeout as sleep } from 'node:timers/promises';
import type { Operation, SeenCall, ServiceFault } from './downstream.js';
import type { Battlefield } from './nemesis.js';
import { readOrder } from './operator.js';
import type { LinkName, Role } from './product.js';
import type { Disturbance } from './tcp-proxy.js';
import { came } from './until.js';
import { resetWorkflow } from './workflow-reset.js';

export interface PlannedFault {
  /** The class and, behind a colon, whom it befalls. */
  readonly name: string;
  readonly cause: (field: Battlefield) => Promise<void>;
}

export type LaneName = keyof typeof LANES;

/** 8 s for a call of the wanted operation to come by. */
const CALL_PATIENCE_MS = 8_000;

/** 30 s for an order to give a step up: its deadline, and the outages of its worker meanwhile. */
const GIVE_UP_PATIENCE_MS = 30_000;

/** 2 s for calls that are let go to take effect, or to be refused. */
const SIGHT_PATIENCE_MS = 2_000;

type Service = 'payment' | 'inventory';

/** Calls that take effect and are never heard of. */
const UNANSWERED: ServiceFault = { operation: 'reserve', fault: 'delay-after', delayMs: 3_000 };
const UNANSWERED_CHARGE: ServiceFault = { ...UNANSWERED, operation: 'charge' };

const terminate = ({ temporal }: Battlefield, workflowId: string): Promise<unknown> =>
  temporal.workflow.getHandle(workflowId).terminate('the hammer');

/** Everything that is done to the product, by what would clash. */
export const LANES = {
  payment: [
    befall('payment', { operation: 'charge', fault: 'error-before', status: 500, times: 2 }),
    befall('payment', { operation: 'charge', fault: 'error-before', status: 503, times: 1 }),
    befall('payment', { operation: 'charge', fault: 'drop-before', times: 2 }),
    befall('payment', { operation: 'charge', fault: 'drop-after', times: 2 }),
    befall('payment', { operation: 'charge', fault: 'delay-after', delayMs: 1_700, times: 2 }),
    holdAndRelease('payment', 'charge'),
    befall('payment', { operation: 'refund', fault: 'error-before', status: 500, times: 1 }),
    befall('payment', { operation: 'refund', fault: 'drop-after', times: 1 }),
    holdAndRelease('payment', 'refund'),
    poison('payment', 'refund'),
    lateStep('payment', 'charge'),
    lostReplies('payment', 'charge'),
    meddle('terminate', 'payment', UNANSWERED_CHARGE, terminate),
    kill('payment'),
    pause('payment', 1_500, 3_000),
    disturb('workers-payment', 'cut', 2_000),
    disturb('workers-payment', 'lose-replies', 2_000),
    disturb('workers-payment', 'slow', 2_500),
  ],
  inventory: [
    befall('inventory', { operation: 'reserve', fault: 'error-before', status: 429, times: 2 }),
    befall('inventory', { operation: 'reserve', fault: 'drop-after', times: 2 }),
    befall('inventory', { operation: 'reserve', fault: 'delay-after', delayMs: 1_700, times: 1 }),
    lateStep('inventory', 'reserve'),
    lostReplies('inventory', 'reserve'),
    undoUnder('release lost', { operation: 'release', fault: 'drop-after', times: 1 }),
    undoUnder('release held', { operation: 'release', fault: 'hold', times: 1 }),
    undoUnder('nothing', undefined),
    undoOutage(),
    meddle('terminate', 'inventory', { operation: 'reserve', fault: 'hold' }, terminate),
    meddle('cancel-workflow', 'inventory', UNANSWERED, ({ temporal }, workflowId) =>
      temporal.workflow.getHandle(workflowId).cancel(),
    ),
    meddle('reset', 'inventory', UNANSWERED, ({ temporal, random }, workflowId) =>
      resetWorkflow(temporal, workflowId, random),
    ),
    kill('inventory'),
    pause('inventory', 1_500, 3_000),
    disturb('workers-inventory', 'stall', 2_500),
    disturb('workers-inventory', 'truncate', 2_000),
  ],
  apis: [
    kill('api'),
    kill('api2'),
    pause('api', 1_500, 3_000),
    pause('api2', 2_000, 6_500),
    stop('api'),
    disturb('api2-postgres', 'cut', 3_000),
    disturb('api2-postgres', 'stall', 3_000),
    // Longer than an API waits for the engine: it answers 503, and the claim stays.
    disturb('api2-temporal', 'cut', 6_500),
    disturb('api2-temporal', 'stall', 7_000),
  ],
  workers: [
    kill('worker'),
    kill('worker2'),
    // Past the time-outs of a heartbeat and of a workflow task: another one takes over from the living dead.
    pause('worker', 2_000, 6_500),
    pause('worker2', 6_000, 7_500),
    stop('worker2'),
    disturb('worker2-temporal', 'cut', 4_000),
    disturb('worker2-temporal', 'stall', 6_000),
    disturb('worker2-postgres', 'cut', 3_000),
  ],
  servers: [
    restartPostgres(),
    kill('temporal'),
    pause('temporal', 2_000, 4_000),
    swizzle(),
    resetClosed(),
  ],
} as const satisfies Readonly<Record<string, readonly PlannedFault[]>>;

/** Faults that befall the next calls, whoever's they are. */
function befall(service: Service, fault: ServiceFault): PlannedFault {
  const status = fault.status === undefined ? '' : ` ${fault.status}`;
  return {
    name: `${fault.fault}${status}:${fault.operation}`,
    cause: async (field) => {
      const desk = field[service];
      if (!(await desk.set([fault]))) return;
      if (await desk.usedUp(CALL_PATIENCE_MS)) await field.strike();
      await desk.calls();
      await desk.set([]);
    },
  };
}

/** An effect that happens long after its caller has given the attempt up. */
function holdAndRelease(service: Service, operation: Operation): PlannedFault {
  return {
    name: `hold:${operation}`,
    cause: async (field) => {
      const desk = field[service];
      if (!(await desk.set([{ operation, fault: 'hold', times: 1 }]))) return;
      if (await desk.usedUp(CALL_PATIENCE_MS)) {
        await field.strike();
        await sleep(field.random.between(500, 3_000));
      }
      await desk.set([]);
      await desk.release();
      await desk.calls();
    },
  };
}

/** An undo that is refused: a person must make it go on. */
function poison(service: Service, operation: Operation): PlannedFault {
  return {
    name: `poison:${operation}`,
    cause: async (field) => {
      const desk = field[service];
      const fault = { operation, fault: 'error-before', status: 400 } as const;
      const orderId = await desk.catchOrder(fault, CALL_PATIENCE_MS);
      if (orderId === undefined) return;
      await field.strike();
      // The operator's first try may meet it again.
      await sleep(field.random.between(0, 4_000));
      await desk.set([]);
    },
  };
}

/** Every attempt of one order's step hangs until the order has given it up and undone it; then all of them arrive. */
function lateStep(service: Service, operation: 'charge' | 'reserve'): PlannedFault {
  const isRefused = ({ effect, status }: SeenCall): boolean => !effect && status === 409;
  return giveUp(`late:${operation}`, service, { operation, fault: 'hold' }, isRefused);
}

/** Every attempt takes effect and no answer ever comes: the order gives up a step that was done. */
function lostReplies(service: Service, operation: 'charge' | 'reserve'): PlannedFault {
  const tookEffect = ({ effect }: SeenCall): boolean => effect;
  return giveUp(
    `lost-replies:${operation}`,
    service,
    { operation, fault: 'drop-after' },
    tookEffect,
  );
}

/** The fault has missed where the order didn't give up, or no call of its shows `sight` afterwards. */
function giveUp(
  name: string,
  service: Service,
  fault: ServiceFault,
  sight: (call: SeenCall) => boolean,
): PlannedFault {
  return {
    name,
    cause: async (field) => {
      const desk = field[service];
      const orderId = await desk.catchOrder(fault, CALL_PATIENCE_MS);
      if (orderId === undefined) return;
      await field.strike();
      const gaveUp = await came(() => hasGivenUp(field, orderId), GIVE_UP_PATIENCE_MS, 200);
      await desk.set([]);
      await desk.release();
      const isSeen = await came(
        async () => (await desk.calls()).some((call) => call.orderId === orderId && sight(call)),
        SIGHT_PATIENCE_MS,
      );
      if (!gaveUp || !isSeen) field.miss();
    },
  };
}

/** Cancels an order while its reservation is under way, so that it has something to release, under a fault or none. */
function undoUnder(what: string, fault: ServiceFault | undefined): PlannedFault {
  return {
    name: `cancel-late:${what}`,
    cause: async (field) => {
      const { inventory, clients } = field;
      const orderId = await inventory.catchOrder(UNANSWERED, CALL_PATIENCE_MS);
      if (orderId !== undefined) {
        const faults = fault === undefined ? [] : [{ ...fault, orderId }];
        await inventory.set([{ ...UNANSWERED, orderId }, ...faults]);
        await field.strike();
        const tenant = clients.orders.find((order) => order.orderIds.has(orderId))?.planned.tenant;
        if (tenant !== undefined) await clients.cancel(tenant, orderId);
        else await cancelWorkflow(field, orderId);
        await came(() => hasGivenUp(field, orderId), GIVE_UP_PATIENCE_MS, 200);
        await sleep(field.random.between(200, 1_500));
      }
      await inventory.set([]);
      await inventory.release();
    },
  };
}

/** The undo of one order fails until the order says that it needs a person. */
function undoOutage(): PlannedFault {
  return {
    name: 'undo-outage:release',
    cause: async (field) => {
      const { inventory } = field;
      const orderId = await inventory.catchOrder(UNANSWERED, CALL_PATIENCE_MS);
      if (orderId !== undefined) {
        const outage = { operation: 'release', fault: 'error-before', status: 500 } as const;
        await inventory.set([
          { ...UNANSWERED, orderId },
          { ...outage, orderId },
        ]);
        await field.strike();
        await cancelWorkflow(field, orderId);
        const needsPerson = async (): Promise<boolean> =>
          /needs_attention|cancelled|confirmed/.test(
            (await readOrder(field.product, orderId))?.status ?? '',
          );
        await came(needsPerson, GIVE_UP_PATIENCE_MS, 300);
      }
      await inventory.set([]);
    },
  };
}

/** Meddles with the workflow of an order while one of its calls is under way. */
function meddle(
  what: string,
  service: Service,
  fault: ServiceFault,
  act: (field: Battlefield, workflowId: string) => Promise<unknown>,
): PlannedFault {
  return {
    name: `${what}:mid-${fault.operation}`,
    cause: async (field) => {
      const desk = field[service];
      const orderId = await desk.catchOrder(fault, CALL_PATIENCE_MS);
      if (orderId !== undefined) {
        await field.strike();
        const sagaId = (await readOrder(field.product, orderId))?.sagaId;
        if (sagaId !== undefined) await act(field, sagaId);
        await sleep(field.random.between(0, 3_000));
      }
      await desk.set([]);
      await desk.release();
    },
  };
}

function kill(role: Role): PlannedFault {
  return {
    name: `kill:${role}`,
    cause: async ({ product, strike, payment, inventory }) => {
      // What a service has seen is forgotten with its process.
      if (role === 'payment') await payment.calls();
      if (role === 'inventory') await inventory.calls();
      await product.end(role, 'SIGKILL', strike);
    },
  };
}

function stop(role: Role): PlannedFault {
  return {
    name: `stop:${role}`,
    cause: ({ product, strike }) => product.end(role, 'SIGTERM', strike),
  };
}

/** Immediate: no goodbye to anyone, recovery from the log at the start. */
function restartPostgres(): PlannedFault {
  return {
    name: 'restart:postgres',
    cause: ({ product, strike }) => product.end('postgres', 'SIGQUIT', strike),
  };
}

function pause(role: Role, minMs: number, maxMs: number): PlannedFault {
  return {
    name: `pause:${role}`,
    cause: async ({ product, strike, random }) => {
      await strike();
      await product.signal(role, 'SIGSTOP');
      await sleep(random.between(minMs, maxMs));
      await product.signal(role, 'SIGCONT');
    },
  };
}

function disturb(link: LinkName, disturbance: Disturbance, forMs: number): PlannedFault {
  return {
    name: `${disturbance}:${link}`,
    cause: async ({ product, strike }) => {
      await strike();
      const lift = product.links[link].disturb(disturbance);
      await sleep(forMs);
      lift();
    },
  };
}

/** All links fall still one after the other and come back in another order. */
function swizzle(): PlannedFault {
  return {
    name: 'swizzle:links',
    cause: async ({ product, strike, random }) => {
      await strike();
      const lifts: (() => void)[] = [];
      for (const link of random.shuffled(Object.values(product.links))) {
        lifts.push(link.disturb('stall'));
        await sleep(random.between(100, 400));
      }
      for (const lift of random.shuffled(lifts)) {
        await sleep(random.between(100, 400));
        lift();
      }
    },
  };
}

/** Resets the workflow of an order that has ended: it must end the same way again. */
function resetClosed(): PlannedFault {
  return {
    name: 'reset:ended',
    cause: async (field) => {
      const { clients, random, temporal, strike } = field;
      const ended = clients.orders.filter(
        ({ final, orderIds }) => final !== undefined && orderIds.size > 0,
      );
      const order = ended[random.between(0, ended.length - 1)];
      const [orderId] = order?.orderIds ?? [];
      if (orderId === undefined) return;
      const sagaId = (await readOrder(field.product, orderId))?.sagaId;
      if (sagaId === undefined) return;
      await resetWorkflow(temporal, sagaId, random);
      await strike();
    },
  };
}

async function cancelWorkflow(field: Battlefield, orderId: string): Promise<void> {
  const sagaId = (await readOrder(field.product, orderId))?.sagaId;
  if (sagaId !== undefined) await field.temporal.workflow.getHandle(sagaId).cancel();
}

/** Whether the order has ended, or waits for a person: it then has tried to undo what it had called. */
async function hasGivenUp({ product }: Battlefield, orderId: string): Promise<boolean> {
  const status = (await readOrder(product, orderId))?.status ?? '';
  return /confirmed|cancelled|needs_attention/.test(status);
}
