import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { ended } from '../support/money.js';
import { retried } from '../support/wire.js';
import type { WireAnswer } from '../support/wire.js';
import { assertHolds, ASYNC, ORDER, SOLD_OUT } from './orders.js';
import { sharedRig } from './rig.js';
import type { Rig, RoleName } from './rig.js';

/** A run is some seconds on real processes: five in CI; more by hand, as the seed is printed. */
const RUNS = Number(process.env['MODEL_RUNS'] ?? 5);
const MAX_COMMANDS = 12;

/** What is ordered, and the final answers that it may have when nobody cancels it. */
const BODIES = {
  bought: { body: ORDER, status: 201 },
  declined: { body: { ...ORDER, paymentMethod: 'pm_declined' }, status: 402 },
  soldOut: { body: SOLD_OUT, status: 422 },
} as const;
type BodyName = keyof typeof BODIES;

/** What is known of a key: a set of allowed answers, not a copy of the product. */
interface KeyModel {
  readonly body: BodyName;
  isCancelled: boolean;
  /** The final answer, once a client has had it. */
  final?: string;
}
type Model = Map<number, KeyModel>;

interface Real {
  readonly rig: Rig;
  readonly keys: readonly string[];
  readonly orderIds: Map<number, string>;
}

type Command = fc.AsyncCommand<Model, Real>;

const LONG = { prefer: 'wait=60' };

class Post implements Command {
  readonly #key: number;
  readonly #body: BodyName;
  readonly #headers: Readonly<Record<string, string>>;

  constructor(key: number, body: BodyName, isAsync: boolean) {
    this.#key = key;
    this.#body = body;
    this.#headers = isAsync ? ASYNC : LONG;
  }

  check = (): boolean => true;

  async run(model: Model, real: Real): Promise<void> {
    const answer = await post(real, this.#key, this.#body, this.#headers);
    const known = model.get(this.#key) ?? { body: this.#body, isCancelled: false };
    model.set(this.#key, known);
    accept(known, this.#body, answer);
    if (known.body === this.#body) noteOrder(real, this.#key, answer);
  }

  toString = (): string => `Post(${this.#key}, ${this.#body}, ${JSON.stringify(this.#headers)})`;
}

/** Four at once, one of them with another body where the key is new: whichever comes first wins. */
class PostAtOnce implements Command {
  readonly #key: number;
  readonly #body: BodyName;

  constructor(key: number, body: BodyName) {
    this.#key = key;
    this.#body = body;
  }

  check = (): boolean => true;

  async run(model: Model, real: Real): Promise<void> {
    const other: BodyName = this.#body === 'bought' ? 'declined' : 'bought';
    const bodies = [this.#body, this.#body, other, this.#body];
    const answers = await Promise.all(bodies.map((body) => post(real, this.#key, body, LONG)));
    const won = bodies.find((_body, index) => answers[index]?.status !== 409);
    assert.ok(won !== undefined || model.has(this.#key), 'one of them is let in');
    const known = model.get(this.#key) ?? { body: won!, isCancelled: false };
    model.set(this.#key, known);
    for (const [index, answer] of answers.entries()) {
      accept(known, bodies[index]!, answer);
      if (bodies[index] === known.body) noteOrder(real, this.#key, answer);
    }
  }

  toString = (): string => `PostAtOnce(${this.#key}, ${this.#body})`;
}

class Cancel implements Command {
  readonly #key: number;

  constructor(key: number) {
    this.#key = key;
  }

  check = (model: Readonly<Model>): boolean => model.has(this.#key);

  async run(model: Model, { rig, orderIds }: Real): Promise<void> {
    const known = model.get(this.#key)!;
    const { status, json } = await retried(() =>
      rig.send(`/orders/${orderIds.get(this.#key)!}/cancel`),
    );
    if (status === 409) {
      assert.equal(json['type'], '/problems/order-not-cancellable');
      assert.equal(known.body, 'bought', 'only a confirmed order refuses it');
    } else {
      assert.equal(status, 202);
      known.isCancelled = true;
    }
  }

  toString = (): string => `Cancel(${this.#key})`;
}

class Kill implements Command {
  readonly #role: RoleName;

  constructor(role: RoleName) {
    this.#role = role;
  }

  check = (): boolean => true;

  async run(_model: Model, { rig }: Real): Promise<void> {
    await rig.roles[this.#role].kill();
    await rig.roles[this.#role].start();
  }

  toString = (): string => `Kill(${this.#role})`;
}

class LoseAnswers implements Command {
  readonly #operation: 'charge' | 'refund' | 'reserve' | 'release';

  constructor(operation: 'charge' | 'refund' | 'reserve' | 'release') {
    this.#operation = operation;
  }

  check = (): boolean => true;

  async run(_model: Model, { rig }: Real): Promise<void> {
    const isPayment = this.#operation === 'charge' || this.#operation === 'refund';
    const service = isPayment ? rig.payment : rig.inventory;
    await service.faults([{ operation: this.#operation, fault: 'drop-after', times: 2 }]);
  }

  toString = (): string => `LoseAnswers(${this.#operation})`;
}

describe('faults: the service against a model of what it may answer', () => {
  let rig: Rig;

  before(async function () {
    this.timeout(600_000); // builds the proxy from its sources on a fresh machine
    rig = await sharedRig();
  });
  afterEach(() => rig.heal());

  it('answers as it may, and holds what it says, through any requests, kills and lost answers', async () => {
    const key = fc.nat({ max: 2 });
    const body = fc.constantFrom<BodyName>('bought', 'bought', 'declined', 'soldOut');
    const commands = fc.commands(
      [
        fc.tuple(key, body, fc.boolean()).map((args) => new Post(...args)),
        fc.tuple(key, body).map((args) => new PostAtOnce(...args)),
        key.map((one) => new Cancel(one)),
        fc.constantFrom<RoleName>('api', 'worker', 'payment', 'inventory').map((r) => new Kill(r)),
        fc
          .constantFrom(
            'charge' as const,
            'refund' as const,
            'reserve' as const,
            'release' as const,
          )
          .map((operation) => new LoseAnswers(operation)),
      ],
      { maxCommands: MAX_COMMANDS },
    );
    const seed = Number(process.env['MODEL_SEED'] ?? Date.now() % 2 ** 31);

    await fc.assert(
      fc.asyncProperty(commands, async (list) => {
        const real: Real = {
          rig,
          keys: Array.from({ length: 3 }, () => randomUUID()),
          orderIds: new Map(),
        };
        const model: Model = new Map();
        await fc.asyncModelRun(() => ({ model, real }), list);
        await settle(model, real);
      }),
      // What is printed on a failure repeats it; a minute of shrinking on real processes would find little.
      { numRuns: RUNS, seed, endOnFailure: true },
    );
  }).timeout(300_000);
});

/** Every order has ended, holds what its status says, and its key replays one answer. */
async function settle(model: Model, real: Real): Promise<void> {
  for (const [key, known] of model) {
    const orderId = real.orderIds.get(key)!;
    const status = await ended(real.rig, orderId);
    await assertHolds(real.rig, orderId, status);
    if (known.body !== 'bought') assert.equal(status, 'cancelled');
    if (known.body === 'bought' && !known.isCancelled) assert.equal(status, 'confirmed');
    for (let twice = 0; twice < 2; twice += 1) {
      accept(known, known.body, await post(real, key, known.body, LONG));
    }
    assert.ok(known.final);
  }
}

function post(
  { rig, keys }: Real,
  key: number,
  body: BodyName,
  headers: Readonly<Record<string, string>>,
): Promise<WireAnswer> {
  return retried(() => rig.post(BODIES[body].body, { key: keys[key]!, headers }));
}

/** Whether a key may answer so. */
function accept(known: KeyModel, body: BodyName, { status, json, text }: WireAnswer): void {
  if (body !== known.body) {
    assert.deepEqual([status, json['type']], [409, '/problems/idempotency-key-reused']);
    return;
  }
  if (status === 202) {
    assert.equal(known.final, undefined, 'what is final stays');
    return;
  }
  const isCancel = known.isCancelled && json['type'] === '/problems/order-cancelled';
  if (!isCancel) assert.equal(status, BODIES[body].status, text);
  known.final ??= `${status} ${text}`;
  assert.equal(`${status} ${text}`, known.final, 'the same bytes for ever');
}

function noteOrder({ orderIds }: Real, key: number, { json }: WireAnswer): void {
  const orderId = String(json['orderId']);
  assert.equal(orderIds.get(key) ?? orderId, orderId, 'one order a key');
  orderIds.set(key, orderId);
}
