import { useState } from 'preact/hooks';
import type { StepRecord } from '../domain/order.js';
import type { Tokens } from './access.js';
import { healFor } from './experiments.js';
import { need, wordsOf } from '../api-client/http.js';
import { isFinal, money, STATUS_WORDS, timeOf, whereTheMoneyIs } from '../api-client/order.js';
import type { OrderDocument } from '../api-client/order.js';
import { STEP_TABLE } from '../domain/step-table.js';
import { UndoForm } from './undo-form.js';
import { useLedgers, useOrder } from './use-order.js';
import type { LedgerLine, Ledgers } from './use-order.js';

const LINK_WORDS = {
  connecting: 'Connecting …',
  live: 'Live: changes come by themselves.',
  lost: 'The connection is lost; trying again.',
  ended: 'Final: nothing changes any more.',
} as const;

interface OrderViewProps {
  readonly orderId: string;
  readonly tokens: Tokens;
  readonly hasFaults: boolean;
}

export function OrderView({ orderId, tokens, hasFaults }: OrderViewProps) {
  const { order, log, link, failure } = useOrder(orderId, tokens);
  const ledgers = useLedgers(order, tokens.operator, hasFaults);
  return (
    <section class="panel" aria-labelledby="order-title">
      <h2 id="order-title">
        Order <code class="id">{orderId}</code>
      </h2>
      <p class="failure" role="alert">
        {failure}
      </p>
      {order !== undefined && (
        <>
          <p class="headline">
            <span class={`status ${order.status}`}>{STATUS_WORDS[order.status]}</span>{' '}
            {money(order.amount, order.currency)}
            {order.reason !== null && <span> · {order.reason}</span>}
          </p>
          <p class={order.status === 'needs_attention' ? 'stake' : ''}>{whereTheMoneyIs(order)}.</p>
          <p class="quiet">
            {failure === '' && LINK_WORDS[link]}{' '}
            {order.temporalUi !== null && (
              <a href={order.temporalUi} target="_blank" rel="noreferrer">
                Workflow in the Temporal Web UI
              </a>
            )}
          </p>
          <Steps order={order} ledgers={ledgers} />
          {order.steps
            .filter(({ compensationState }) => compensationState === 'stuck')
            .map((step) => (
              <UndoForm key={step.name} order={order} step={step} token={tokens.operator} />
            ))}
          <Actions order={order} tokens={tokens} hasFaults={hasFaults} />
          <h3>Timeline</h3>
          <div class="timeline" role="log" aria-label="Timeline" tabIndex={0}>
            <ol>
              {log.map(({ at, text }, index) => (
                <li key={index}>
                  <time>{timeOf(at)}</time> <span>{text}</span>
                </li>
              ))}
            </ol>
          </div>
        </>
      )}
    </section>
  );
}

interface StepsProps {
  readonly order: OrderDocument;
  readonly ledgers: Ledgers | undefined;
}

/** Each step and each undo beside what its service has in its books for it. */
function Steps({ order, ledgers }: StepsProps) {
  const undos = order.steps.filter(({ compensationState }) => compensationState !== 'none');
  return (
    <div class="table" role="table" aria-label="Steps and undos">
      <div role="row" class="table-head">
        {['What', 'State', 'Calls', 'Key', ...(ledgers === undefined ? [] : ['In the ledger'])].map(
          (title) => (
            <span role="columnheader" key={title}>
              {title}
            </span>
          ),
        )}
      </div>
      {order.steps.map((step) => (
        <Row
          key={step.key}
          what={`${STEP_TABLE[step.name].does.step} (${step.name})`}
          state={step.state}
          attempts={step.attempts}
          stepKey={step.key}
          lines={ledgers?.[step.name]?.filter((line) => isForward(line, step))}
        />
      ))}
      {undos.reverse().map((step) => (
        <Row
          key={step.compensationKey}
          what={`Undo: ${STEP_TABLE[step.name].does.undo} (${step.name})`}
          state={step.compensationState}
          attempts={undefined}
          stepKey={step.compensationKey}
          lines={ledgers?.[step.name]?.filter((line) => !isForward(line, step))}
        />
      ))}
    </div>
  );
}

interface RowProps {
  readonly what: string;
  readonly state: string;
  readonly attempts: number | undefined;
  readonly stepKey: string;
  readonly lines: readonly LedgerLine[] | undefined;
}

function Row({ what, state, attempts, stepKey, lines }: RowProps) {
  return (
    <div role="row">
      <span role="cell">{what}</span>
      <span role="cell">
        <span class={`state ${state}`}>{state}</span>
      </span>
      <span role="cell" data-title="Calls">
        {attempts ?? '–'}
      </span>
      <span role="cell">
        <code class="key">{stepKey}</code>
      </span>
      {lines !== undefined && (
        <span role="cell" data-title="In the ledger">
          {lines.length === 0
            ? '–'
            : lines.map(({ kind, amount, createdAt }) => (
                <span class="ledger" key={`${kind} ${createdAt}`}>
                  {kind} {amount} <time class="quiet">{timeOf(createdAt)}</time>
                </span>
              ))}
        </span>
      )}
    </div>
  );
}

const isForward = (line: LedgerLine, step: StepRecord): boolean => line.key === step.key;

function Actions({ order, tokens, hasFaults }: Omit<OrderViewProps, 'orderId'> & StepsOrder) {
  const [failure, setFailure] = useState('');
  const [done, setDone] = useState('');
  const run = async (act: () => Promise<unknown>, said: string): Promise<void> => {
    setDone('');
    try {
      await act();
      setFailure('');
      setDone(said);
    } catch (error) {
      setFailure(wordsOf(error));
    }
  };
  if (isFinal(order)) return null;
  const cancel = () =>
    need(`/orders/${order.orderId}/cancel`, { method: 'POST', token: tokens.tenant });
  return (
    <>
      <div class="buttons">
        {order.status === 'processing' && (
          <button type="button" onClick={() => void run(cancel, 'The cancel was taken.')}>
            Cancel the order
          </button>
        )}
        {hasFaults && (
          <button
            type="button"
            onClick={() =>
              void run(() => healFor(tokens.operator, order.orderId), 'The services are healed.')
            }
          >
            Release held calls, heal the services
          </button>
        )}
      </div>
      <p class="quiet" role="status">
        {done}
      </p>
      <p class="failure" role="alert">
        {failure}
      </p>
    </>
  );
}

interface StepsOrder {
  readonly order: OrderDocument;
}
