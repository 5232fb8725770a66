import type { TargetedSubmitEvent } from 'preact';
import { useState } from 'preact/hooks';
import type { StepRecord } from '../domain/order.js';
import { need, wordsOf } from '../api-client/http.js';
import { money } from '../api-client/order.js';
import type { OrderDocument } from '../api-client/order.js';
import { STEP_TABLE } from '../domain/step-table.js';

interface UndoFormProps {
  readonly order: OrderDocument;
  readonly step: StepRecord;
  /** An operator's. */
  readonly token: string;
}

/** What a person can say about an undo that is stuck. */
export function UndoForm({ order, step, token }: UndoFormProps) {
  const [said, setSaid] = useState('');
  const [failure, setFailure] = useState('');
  const undo = STEP_TABLE[step.name].does.undo;

  const submit = (event: TargetedSubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const fields = new FormData(event.currentTarget, event.submitter);
    const text = (name: string): string => (fields.get(name) as string).trim();
    const action = text('action');
    const who = text('who');
    const body = { step: step.name, why: text('why'), ...(who === '' ? {} : { who }) };
    setFailure('');
    setSaid('');
    need(`/orders/${order.orderId}/undo/${action}`, { method: 'POST', token, body }).then(
      () => setSaid(`The ${action} was taken; the order goes on.`),
      (error: unknown) => setFailure(wordsOf(error)),
    );
  };
  return (
    <form class="undo" onSubmit={submit} aria-labelledby={`undo-${step.name}`}>
      <h3 id={`undo-${step.name}`}>
        {undo} of {money(order.amount, order.currency)} is stuck: a person has to say how it goes on
      </h3>
      <p>
        <strong>Retry</strong> tries it once more, when the service is repaired.{' '}
        <strong>Resolve</strong> ends it without another try, when it was settled by other means.
      </p>
      <div class="fields">
        <label>
          Who (the token’s name where empty)
          <input name="who" maxLength={64} autocomplete="off" />
        </label>
        <label class="grow">
          Why, for the auditor
          <input name="why" required maxLength={1_000} autocomplete="off" />
        </label>
      </div>
      <div class="buttons">
        <button type="submit" name="action" value="retry" class="primary">
          Retry the undo
        </button>
        <button type="submit" name="action" value="resolve">
          Resolve: settled by hand
        </button>
      </div>
      <p role="status">{said}</p>
      <p class="failure" role="alert">
        {failure}
      </p>
    </form>
  );
}
