import assert from 'node:assert/strict';
import { contradictionsIn } from '../../src/cli/explain/contradictions.js';
import type { Evidence, LedgerLine } from '../../src/cli/explain/evidence.js';
import { stepKeys } from '../../src/domain/keys.js';
import { answerOf } from '../../src/domain/outcome.js';
import type { OrderOutcome } from '../../src/domain/outcome.js';
import { stepsAfter } from '../../src/domain/steps.js';
import { anOrder, workflowIdOf } from '../support/orders.js';

const PLACED = new Date('2026-01-01T00:00:00Z');
const AT = PLACED.toISOString();

const ORDER = anOrder();
const WORKFLOW = workflowIdOf(ORDER);
const { payment, inventory } = stepKeys(ORDER.orderId);

const { orderId, amountMinor: amount, currency, items } = ORDER;
const CHARGE: LedgerLine = {
  kind: 'charge',
  key: payment.key,
  orderId,
  amount,
  currency,
  createdAt: AT,
};
const REFUND: LedgerLine = { ...CHARGE, kind: 'refund', key: payment.compensationKey };
const BARRED: LedgerLine = { ...CHARGE, kind: 'void', amount: 0, currency: null };
const RESERVE: LedgerLine = { kind: 'reserve', key: inventory.key, orderId, items, createdAt: AT };

const CONFIRMED: OrderOutcome = { answerVersion: 1, status: 'confirmed' };
const SOLD_OUT: OrderOutcome = { answerVersion: 1, status: 'cancelled', reason: 'out-of-stock' };

/** Records that agree with each other, of an order that has ended so. */
function evidenceOf(outcome: OrderOutcome): Evidence {
  const isKept = outcome.status === 'confirmed';
  const answer = answerOf(outcome, orderId, WORKFLOW);
  return {
    order: {
      order: ORDER,
      workflowId: WORKFLOW,
      userId: 'u',
      status: outcome.status,
      decision: isKept ? 'keep' : 'undo',
      reason: isKept ? null : outcome.reason,
      steps: stepsAfter(outcome, orderId),
      undoneBy: isKept ? null : WORKFLOW,
      cancelRequestedAt: null,
      createdAt: PLACED,
      updatedAt: PLACED,
    },
    others: [],
    claims: [
      {
        tenant: ORDER.tenant,
        scope: 'POST:/orders',
        keyDigest: 'digest',
        requestHash: 'hash',
        orderId,
        workflowId: WORKFLOW,
        status: 'completed',
        answerStatus: answer.status,
        answerBody: answer.body,
        createdAt: PLACED,
        completedAt: PLACED,
        expiresAt: PLACED,
        isExpired: false,
      },
    ],
    workflow: {
      workflowId: WORKFLOW,
      type: 'placeOrder',
      status: 'COMPLETED',
      runs: 1,
      events: 9,
      startedAt: PLACED,
      closedAt: PLACED,
      memo: { resourceId: orderId, requestHash: 'hash' },
      result: outcome,
    },
    repair: undefined,
    payment: { ledger: isKept ? [CHARGE] : [CHARGE, REFUND], calls: [] },
    inventory: { ledger: isKept ? [RESERVE] : [], calls: [] },
  };
}

const kept = evidenceOf(CONFIRMED);
const undone = evidenceOf(SOLD_OUT);
const claim = kept.claims[0]!;
const call = { operation: 'charge', key: payment.key, effect: true, status: 201, at: AT } as const;

const CASES: readonly (readonly [string, Evidence, RegExp])[] = [
  ['two charges', withPayment(kept, [CHARGE, CHARGE]), /2 lines of charge/],
  ['a confirmed order without its charge', withPayment(kept, []), /confirmed with 0 charges/],
  ['a confirmed order that was refunded', withPayment(kept, [CHARGE, REFUND]), /and has a refund/],
  [
    'a confirmed order without its reservation',
    { ...kept, inventory: { ledger: [], calls: [] } },
    /confirmed with 0 reservations/,
  ],
  ['a cancelled order that keeps the money', withPayment(undone, [CHARGE]), /charge has no refund/],
  ['a refund of nothing', withPayment(undone, [REFUND]), /refund without a charge/],
  ['a charge that is lost', withPayment(undone, []), /charge is said to be done and is not there/],
  [
    'a reservation that was refused',
    { ...undone, inventory: { ledger: [RESERVE], calls: [] } },
    /reservation is said to be refused and is there/,
  ],
  ['a charge under a barred key', withPayment(undone, [BARRED, CHARGE, REFUND]), /that was barred/],
  ['another amount', withPayment(kept, [{ ...CHARGE, amount: 1 }]), /not of what the order is of/],
  ['another currency', withPayment(kept, [{ ...CHARGE, currency: 'EUR' }]), /not of what/],
  [
    'other items',
    { ...kept, inventory: { ledger: [{ ...RESERVE, items: [] }], calls: [] } },
    /a reserve is not of what/,
  ],
  ['another key', withPayment(kept, [{ ...CHARGE, key: 'k' }]), /a charge has the key k/],
  [
    'a call under another key',
    { ...kept, payment: { ledger: [CHARGE], calls: [{ ...call, key: 'k' }] } },
    /was called with the key k/,
  ],
  [
    'an effect without a line',
    { ...undone, payment: { ledger: [], calls: [call] } },
    /took effect at .* and has no line/,
  ],
  ['two claims', { ...kept, claims: [claim, claim] }, /2 claims name/],
  [
    'a claim that goes on',
    { ...kept, claims: [{ ...claim, status: 'processing' }] },
    /claim is processing, and the order is confirmed/,
  ],
  [
    'a claim of another workflow',
    { ...kept, claims: [{ ...claim, workflowId: 'order-x' }] },
    /names the workflow order-x/,
  ],
  ['another answer', { ...kept, claims: [{ ...claim, answerBody: '{}' }] }, /saved answer, 201/],
  [
    'a second order of the key in one life',
    { ...kept, others: [{ ...kept.order, order: anOrder(), status: 'processing' }] },
    /second order in the same life/,
  ],
  [
    'a workflow of another order',
    withWorkflow(kept, { memo: { resourceId: 'x' } }),
    /started for x/,
  ],
  [
    'a workflow of another request',
    withWorkflow(kept, { memo: { resourceId: orderId, requestHash: 'x' } }),
    /another request/,
  ],
  ['a workflow that ended otherwise', withWorkflow(kept, { result: SOLD_OUT }), /ended cancelled/],
  ['a workflow that has failed', withWorkflow(kept, { status: 'FAILED' }), /has failed/],
];

describe('the records of an order', () => {
  it('are not contradicted by themselves', () => {
    assert.deepEqual([contradictionsIn(kept), contradictionsIn(undone)], [[], []]);
  });

  for (const [what, evidence, says] of CASES) {
    it(`are contradicted by ${what}`, () => {
      assert.match(contradictionsIn(evidence).join('\n'), says);
    });
  }

  it('are not contradicted by a charge that a person has settled', () => {
    const outcome: OrderOutcome = {
      answerVersion: 1,
      status: 'cancelled',
      reason: 'resolved-by-operator',
    };

    assert.deepEqual(contradictionsIn(withPayment(evidenceOf(outcome), [CHARGE])), []);
  });

  it('are not contradicted by an order of the same key whose life was over', () => {
    const before = new Date(PLACED.getTime() - 1);
    const earlier = { ...kept.order, order: anOrder(), createdAt: before, updatedAt: before };

    assert.deepEqual(contradictionsIn({ ...kept, others: [earlier] }), []);
  });

  it('are not contradicted by what is forgotten: the claim, the workflow, the calls', () => {
    const { payment: paid, ...rest } = kept;
    const forgotten = { ...rest, claims: [], workflow: undefined };

    assert.deepEqual(
      contradictionsIn({ ...forgotten, payment: { ...paid, calls: undefined } }),
      [],
    );
  });
});

function withPayment(evidence: Evidence, ledger: readonly LedgerLine[]): Evidence {
  return { ...evidence, payment: { ledger, calls: [] } };
}

function withWorkflow(evidence: Evidence, change: Partial<Evidence['workflow']>): Evidence {
  return { ...evidence, workflow: { ...evidence.workflow!, ...change } };
}
