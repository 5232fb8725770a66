import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { Contract } from './contract.js';
import type { Answer, ServiceUnderCheck } from './service.js';

/** Ten: enough for a race to be lost, and few enough for a service that is far away. */
const AT_ONCE = 10;

/** One clause of the contract, tried on orders of its own. */
export interface Check {
  /** As docs/downstream.md names it. */
  readonly clause: string;
  readonly promises: string;
  /** @returns what was not looked at, where something was not. @throws Error that says what was seen instead. */
  readonly run: () => Promise<string | undefined>;
}

/** Every clause that a service must keep for its step and its undo to happen once in effect. */
export function checksOf(service: ServiceUnderCheck, contract: Contract): readonly Check[] {
  const { forward, undo } = contract;
  const check = checksOn(service);
  return [
    check('step', 'does the step and names its key', async ({ orderId, key }) => {
      const answer = await service.forward(key, orderId);
      assert.equal(answer.status, 201, said(answer));
      assert.equal(answer.document[undo.keyMember], key, said(answer));
    }),
    check('key-required', 'refuses a call without a key', async ({ orderId }) => {
      const answer = await service.forwardWithoutKey(orderId);
      assert.equal(answer.status, 400, said(answer));
      assert.ok(answer.problem, `no problem document: ${said(answer)}`);
    }),
    check('repeat', 'answers a repeated call like the first', async ({ orderId, key }) => {
      const first = await service.forward(key, orderId);
      const second = await service.forward(key, orderId);
      assert.deepEqual([second.status, second.document], [first.status, first.document]);
      return demandEffects(orderId, 1);
    }),
    check('race', `has one effect of ${AT_ONCE} calls at once`, async ({ orderId, key }) => {
      const answers = await Promise.all(
        Array.from({ length: AT_ONCE }, () => service.forward(key, orderId)),
      );
      for (const answer of answers) assert.equal(answer.status, 201, said(answer));
      return demandEffects(orderId, 1);
    }),
    check('other-body', 'refuses another body under a used key', async ({ orderId, key }) => {
      await service.forward(key, orderId);
      const answer = await service.forward(key, orderId, forward.otherBody);
      assert.deepEqual([answer.status, answer.problem], [409, 'idempotency-key-reused']);
      return demandEffects(orderId, 1);
    }),
    ...(forward.refusedBody === undefined ? [] : [refusalCheck(forward.refusedBody)]),
    check('undo', 'undoes once, whatever key asks again', async ({ orderId, key, undoKey }) => {
      await service.forward(key, orderId);
      await demandOutcome(service.undo(undoKey, orderId, key), undo.undone);
      await demandOutcome(service.undo(undoKey, orderId, key), undo.alreadyUndone);
      await demandOutcome(service.undo(`${undoKey}:2`, orderId, key), undo.alreadyUndone);
      return demandEffects(orderId, 2);
    }),
    check('undo-race', `undoes once when asked ${AT_ONCE} times at once`, async (of) => {
      await service.forward(of.key, of.orderId);
      const answers = await Promise.all(
        Array.from({ length: AT_ONCE }, () => service.undo(of.undoKey, of.orderId, of.key)),
      );
      const first = answers.filter(({ document }) => document['outcome'] === undo.undone);
      const later = answers.filter(({ document }) => document['outcome'] === undo.alreadyUndone);
      // A service that repeats its first answer under one undo key is as good.
      assert.equal(first.length + later.length, AT_ONCE, answers.map(said).join('; '));
      return demandEffects(of.orderId, 2);
    }),
    check('after-undo', 'bars a step that was undone', async ({ orderId, key, undoKey }) => {
      await service.forward(key, orderId);
      await service.undo(undoKey, orderId, key);
      await demandVoided(service.forward(key, orderId));
      return demandEffects(orderId, 2);
    }),
    check('tombstone', 'bars a step that comes after its undo', async (of) => {
      await demandOutcome(service.undo(of.undoKey, of.orderId, of.key), 'voided');
      await demandVoided(service.forward(of.key, of.orderId));
      await demandOutcome(service.undo(of.undoKey, of.orderId, of.key), 'voided');
    }),
    check(
      'overtaking',
      'leaves nothing when step and undo race',
      async ({ orderId, key, undoKey }) => {
        const [step, undone] = await Promise.all([
          service.forward(key, orderId),
          service.undo(undoKey, orderId, key),
        ]);
        assert.equal(undone.status, 200, said(undone));
        // A step that came first has its 201, and was undone all the same.
        if (step.status !== 201) assertVoided(step);
        const outcome = undone.document['outcome'];
        assert.ok(outcome === undo.undone || outcome === 'voided', said(undone));
        await demandVoided(service.forward(key, orderId));
      },
    ),
  ];

  function refusalCheck(body: Contract['forward']['body']): Check {
    return check('refusal', 'remembers its refusal', async ({ orderId, key, undoKey }) => {
      for (const attempt of ['first', 'repeated']) {
        const answer = await service.forward(key, orderId, body);
        const isRefusal = answer.status === 402 || answer.status === 422;
        assert.ok(isRefusal && answer.problem, `${attempt}: ${said(answer)}`);
      }
      await demandOutcome(service.undo(undoKey, orderId, key), 'voided');
      return demandEffects(orderId, 0);
    });
  }

  async function demandOutcome(answering: Promise<Answer>, outcome: string): Promise<void> {
    const answer = await answering;
    assert.deepEqual([answer.status, answer.document['outcome']], [200, outcome], said(answer));
  }

  async function demandVoided(answering: Promise<Answer>): Promise<void> {
    assertVoided(await answering);
  }

  async function demandEffects(orderId: string, expected: number): Promise<string | undefined> {
    const effects = await service.effects(orderId);
    if (effects === undefined) return 'the effects: there is no ledger to look at';
    assert.equal(effects, expected, `${effects} lines in the ledger instead of ${expected}`);
    return undefined;
  }
}

interface OrderOfCheck {
  readonly orderId: string;
  readonly key: string;
  readonly undoKey: string;
}

/** Resolves with what was not looked at; with nothing where all was. */
type Attempt = (order: OrderOfCheck) => Promise<unknown>;

/** Each check runs on an order that no other knows, and undoes it in the end: nothing stays charged. */
function checksOn(service: ServiceUnderCheck) {
  return (clause: string, promises: string, attempt: Attempt): Check => ({
    clause,
    promises,
    run: async () => {
      const orderId = `CHECK-${randomUUID()}`;
      const order = { orderId, key: `${orderId}:step`, undoKey: `${orderId}:comp:step` };
      try {
        const notSeen = await attempt(order);
        return typeof notSeen === 'string' ? notSeen : undefined;
      } finally {
        await service.undo(`${order.undoKey}:end`, orderId, order.key).catch(() => undefined);
      }
    },
  });
}

function assertVoided(answer: Answer): void {
  assert.equal(answer.status, 409, said(answer));
  assert.ok(answer.problem?.endsWith('-voided'), said(answer));
}

const said = ({ status, document }: Answer): string =>
  `it answered ${status} ${JSON.stringify(document).slice(0, 200)}`;
