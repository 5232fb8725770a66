import type { TargetedEvent } from 'preact';
import { useRef, useState } from 'preact/hooks';
import type { Tokens } from './access.js';
import { EXPERIMENTS } from './experiments.js';
import type { Experiment } from './experiments.js';
import { newKey, wordsOf } from '../api-client/http.js';
import { timeOf } from '../api-client/order.js';
import { placeOrder, placingOf, post, postAll } from './placing.js';
import type { Answered, Placing, Result } from './placing.js';

/** 30 answers: what was tried in the last minutes. */
const MAX_ANSWERS = 30;
const AT_ONCE = 20;

interface PlaceOrderProps {
  readonly tokens: Tokens;
  /** Whether the services can be told to fail. */
  readonly hasFaults: boolean;
  readonly onSelect: (orderId: string) => void;
  readonly onPlaced: () => void;
}

export function PlaceOrder({ tokens, hasFaults, onSelect, onPlaced }: PlaceOrderProps) {
  const form = useRef<HTMLFormElement>(null);
  const [experiment, setExperiment] = useState<Experiment>(EXPERIMENTS[0]);
  const [last, setLast] = useState<Placing>();
  const [answers, setAnswers] = useState<readonly Answered[]>([]);
  const [isBusy, setBusy] = useState(false);
  const [failure, setFailure] = useState('');

  const order = (): Readonly<Record<string, unknown>> => {
    const fields = new FormData(form.current ?? undefined);
    const text = (name: string): string => fields.get(name) as string;
    return { userId: text('userId'), amount: Number(text('amount')), currency: text('currency') };
  };
  const run = async (what: string, send: () => Promise<readonly Result[]>): Promise<void> => {
    setBusy(true);
    setFailure('');
    const begin = performance.now();
    try {
      const results = await send();
      const tookMs = Math.round(performance.now() - begin);
      const answered = { id: newKey(), at: new Date(), what, results, tookMs };
      setAnswers((earlier) => [answered, ...earlier].slice(0, MAX_ANSWERS));
      const orderId = results.find((result) => result.orderId !== undefined)?.orderId;
      if (orderId !== undefined) onSelect(orderId);
      onPlaced();
    } catch (error) {
      setFailure(wordsOf(error));
    } finally {
      setBusy(false);
    }
  };
  const submit = (event: TargetedEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const placing = placingOf(experiment, order());
    setLast(placing);
    void run(`New key · ${experiment.label}`, async () => [await placeOrder(tokens, placing)]);
  };
  const again = (change: Readonly<Record<string, unknown>>, what: string): void => {
    if (last === undefined) return;
    const placing = { ...last, body: { ...last.body, ...change } };
    void run(what, async () => [await post(tokens.tenant, placing)]);
  };
  const many = (what: string, placings: (one: Placing) => readonly Placing[]): void => {
    if (form.current?.reportValidity() !== true) return;
    const one = placingOf(experiment.fault === undefined ? experiment : EXPERIMENTS[0], order());
    setLast(one);
    void run(what, () => postAll(tokens.tenant, placings(one)));
  };

  return (
    <section class="panel" aria-labelledby="place-title">
      <h2 id="place-title">Place an order</h2>
      <form ref={form} onSubmit={submit}>
        <div class="fields">
          <label>
            User
            <input name="userId" required maxLength={64} defaultValue="user-1" />
          </label>
          <label>
            Amount, minor units
            <input
              name="amount"
              type="number"
              inputMode="numeric"
              required
              min={1}
              max={10_000_000}
              defaultValue="1000"
            />
          </label>
          <label>
            Currency
            <input name="currency" required pattern="[A-Z]{3}" defaultValue="JPY" />
          </label>
        </div>
        <fieldset class="choices">
          <legend>What is to happen</legend>
          {EXPERIMENTS.filter(({ fault }) => hasFaults || fault === undefined).map((one) => (
            <label key={one.id}>
              <input
                type="radio"
                name="experiment"
                value={one.id}
                checked={one.id === experiment.id}
                onChange={() => setExperiment(one)}
              />
              {one.label}
            </label>
          ))}
        </fieldset>
        <p class="hint" aria-live="polite">
          {experiment.tells}
        </p>
        {!hasFaults && (
          <p class="hint">Lost answers, held calls and poison undos need FAULTS=on.</p>
        )}
        <div class="buttons">
          <button type="submit" class="primary" disabled={isBusy}>
            Place order
          </button>
          <button
            type="button"
            disabled={isBusy || last === undefined}
            onClick={() => again({}, 'Same key, same body')}
          >
            Send it again
          </button>
          <button
            type="button"
            disabled={isBusy || last === undefined}
            onClick={() =>
              again({ amount: Number(last?.body['amount']) + 1 }, 'Same key, other body')
            }
          >
            Same key, other amount
          </button>
          <button
            type="button"
            disabled={isBusy}
            onClick={() =>
              many(`One key, ${AT_ONCE} at once`, (one) => Array<Placing>(AT_ONCE).fill(one))
            }
          >
            One key, twenty at once
          </button>
          <button
            type="button"
            disabled={isBusy}
            onClick={() =>
              many(`${AT_ONCE} keys at once`, (one) =>
                Array.from({ length: AT_ONCE }, () => ({ ...one, key: newKey() })),
              )
            }
          >
            Twenty orders at once
          </button>
        </div>
        {last !== undefined && (
          <p class="hint">
            Idempotency-Key <code>{last.key}</code>
          </p>
        )}
      </form>
      <p class="failure" role="alert">
        {failure}
      </p>
      <Answers answers={answers} isBusy={isBusy} onSelect={onSelect} />
    </section>
  );
}

interface AnswersProps {
  readonly answers: readonly Answered[];
  readonly isBusy: boolean;
  readonly onSelect: (orderId: string) => void;
}

function Answers({ answers, isBusy, onSelect }: AnswersProps) {
  return (
    <div class="answers">
      <h3>Answers</h3>
      <div role="status">{isBusy ? 'Sent; waiting for the answer.' : summary(answers[0])}</div>
      <ol>
        {answers.map(({ id, at, what, results, tookMs }) => (
          <li key={id}>
            <div class="answer-head">
              <time>{timeOf(at)}</time> {what} <span class="quiet">{tookMs} ms</span>
            </div>
            {results.map((result) => (
              <div class="answer" key={`${result.status} ${result.text}`}>
                {result.count > 1 && <span>{result.count} ×</span>}
                <span class={result.isProblem ? 'code problem' : 'code good'}>
                  {result.status === 0 ? 'none' : result.status}
                </span>
                {result.isReplayed && <span class="mark">replayed</span>}
                <span>{result.text}</span>
                {result.orderId !== undefined && (
                  <button type="button" class="link" onClick={() => onSelect(result.orderId ?? '')}>
                    order …{result.orderId.slice(-8)}
                  </button>
                )}
              </div>
            ))}
          </li>
        ))}
      </ol>
    </div>
  );
}

/** For ears: one sentence for the newest answer. */
function summary(answered: Answered | undefined): string {
  if (answered === undefined) return 'Nothing was sent yet.';
  const parts = answered.results.map(
    ({ count, status, isReplayed, text }) =>
      `${count > 1 ? `${count} times ` : ''}${status === 0 ? '' : status} ${text.split(':')[0] ?? ''}` +
      (isReplayed ? ', replayed' : ''),
  );
  return `${answered.what}: ${parts.join('; ')}.`;
}
