import type { TargetedEvent } from 'preact';
import { useState } from 'preact/hooks';

/** Whose eyes the page has. Kept for the tab only. */
export interface Tokens {
  readonly tenant: string;
  readonly operator: string;
}

/** The tokens of `npm start`, known to all the world: any other stack has its own. */
const DEFAULTS: Tokens = { tenant: 'demo-token', operator: 'ops-token' };
const STORED = 'order-desk-tokens';

export function useTokens(): readonly [Tokens, (tokens: Tokens) => void] {
  const [tokens, setTokens] = useState<Tokens>(() => {
    const stored = sessionStorage.getItem(STORED);
    return stored === null ? DEFAULTS : (JSON.parse(stored) as Tokens);
  });
  return [
    tokens,
    (changed) => {
      sessionStorage.setItem(STORED, JSON.stringify(changed));
      setTokens(changed);
    },
  ];
}

interface AccessProps {
  readonly tokens: Tokens;
  readonly onChange: (tokens: Tokens) => void;
}

export function Access({ tokens, onChange }: AccessProps) {
  const submit = (event: TargetedEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const fields = new FormData(event.currentTarget);
    const text = (name: string): string => (fields.get(name) as string).trim();
    onChange({ tenant: text('tenant'), operator: text('operator') });
  };
  return (
    <details class="access">
      <summary>Tokens</summary>
      <form onSubmit={submit}>
        <label>
          Client’s token
          <input name="tenant" type="password" defaultValue={tokens.tenant} autocomplete="off" />
        </label>
        <label>
          Operator’s token
          <input
            name="operator"
            type="password"
            defaultValue={tokens.operator}
            autocomplete="off"
          />
        </label>
        <p class="hint">
          Filled in with those of <code>npm start</code>. Kept until this tab is closed.
        </p>
        <button type="submit">Use these</button>
      </form>
    </details>
  );
}
