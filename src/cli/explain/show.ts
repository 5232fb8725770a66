import { money } from '../../api-client/order.js';
import { STEP_TABLE } from '../../domain/step-table.js';
import { stepKeys } from '../../domain/keys.js';
import type { StepName } from '../../domain/order.js';
import { pendingSteps } from '../../domain/steps.js';
import { indented, paintedStatus } from '../order-text.js';
import { table } from '../terminal.js';
import type { Terminal } from '../terminal.js';
import type {
  Evidence,
  LedgerLine,
  SeenCall,
  ServiceEvidence,
  WorkflowEvidence,
} from './evidence.js';

/** The records of an order, from its claim to its ledger lines; what was found in them comes after it. */
export function evidenceLines(terminal: Terminal, evidence: Evidence): readonly string[] {
  const { paint } = terminal;
  const { order, others } = evidence;
  const head = (title: string): string => paint('bold', title);
  return [
    head('Claim'),
    ...indented(claimLines(evidence)),
    head('Order'),
    ...indented(
      table([
        [order.order.orderId, paintedStatus(terminal, order.status), order.reason ?? ''],
        ['decision', order.decision ?? 'none yet', ''],
        ['amount', money(order.order.amountMinor, order.order.currency), ''],
      ]),
    ),
    ...indented(
      others.map((other) => `another order of this key: ${other.order.orderId}, ${other.status}`),
    ),
    head('Workflow'),
    ...indented(workflowLines(evidence)),
    ...(['payment', 'inventory'] as const).flatMap((name) => [
      head(name === 'payment' ? 'Payment' : 'Inventory'),
      ...indented(stepLines(evidence, name)),
    ]),
  ];
}

function claimLines({ order, claims }: Evidence): readonly string[] {
  if (claims.length === 0) return ['none: its key is past its life and purged; the order stays'];
  return claims.flatMap((claim) => {
    const expiry =
      claim.expiresAt === null ? 'never, while the order goes on' : time(claim.expiresAt);
    const answer =
      claim.answerStatus === null
        ? 'none yet'
        : `${claim.answerStatus}, ${claim.answerBody?.length ?? 0} characters`;
    return table([
      ['key', `sha256 ${claim.keyDigest}`],
      ['request', `sha256 ${claim.requestHash}`],
      ['of', `tenant ${order.order.tenant}, ${claim.scope}`],
      ['state', claim.status],
      ['answer', answer],
      [claim.isExpired ? 'expired' : 'expires', expiry],
    ]);
  });
}

function workflowLines({ order, workflow, repair }: Evidence): readonly string[] {
  const lines = (one: WorkflowEvidence): string => {
    const runs = `${one.runs} ${one.runs === 1 ? 'run' : 'runs'}`;
    return `${one.workflowId}  ${one.type} ${one.status.toLowerCase()}, ${runs}, ${one.events} events`;
  };
  return [
    workflow === undefined
      ? `${order.workflowId}  unknown to Temporal: not started yet, or forgotten`
      : lines(workflow),
    ...(repair === undefined ? [] : [lines(repair)]),
  ];
}

/** A step and its undo: state, key, calls, and the lines that these left. */
function stepLines({ order, ...services }: Evidence, name: StepName): readonly string[] {
  const { orderId } = order.order;
  const record = (order.steps ?? pendingSteps(orderId)).find((step) => step.name === name);
  const keys = stepKeys(orderId)[name];
  const service = services[name];
  return [
    ...table([
      [STEP_TABLE[name].does.step, record?.state ?? '', keys.key, callsInWords(service, keys.key)],
      [
        STEP_TABLE[name].does.undo,
        record?.compensationState ?? '',
        keys.compensationKey,
        callsInWords(service, keys.compensationKey),
      ],
    ]),
    ...(record?.interventions ?? []).map(
      ({ action, who, why, at }) => `${who} says ${action} at ${at}: ${why}`,
    ),
    ...ledgerLines(service.ledger),
  ];
}

/** Ledger lines as they are shown wherever they are evidence. */
export function ledgerLines(ledger: readonly LedgerLine[], label = 'ledger'): readonly string[] {
  if (ledger.length === 0) return [`${label}: no line`];
  return table(
    ledger.map((line) => [`${label}:`, line.kind, line.key, sizeOf(line), line.createdAt]),
  );
}

function sizeOf({ amount, currency, items }: LedgerLine): string {
  if (items !== undefined)
    return items.map(({ sku, quantity }) => `${quantity} × ${sku}`).join(', ') || '-';
  return amount === undefined || currency === undefined || currency === null
    ? '-'
    : money(amount, currency);
}

function callsInWords({ calls }: ServiceEvidence, key: string): string {
  if (calls === undefined) return 'calls not known';
  const own = calls.filter((call) => call.key === key);
  const effects = own.filter(({ effect }) => effect).length;
  const of = own.length === 1 ? 'call' : 'calls';
  return own.length === 0
    ? 'never called'
    : `${own.length} ${of} (${own.map(statusOf).join(', ')}), ${effects} with effect`;
}

const statusOf = ({ status }: SeenCall): string => (status === null ? 'no answer' : String(status));

const time = (moment: Date): string => moment.toISOString();
