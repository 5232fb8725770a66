import assert from 'node:assert/strict';
import { createStoredTokens } from '../../src/api/stored-tokens.js';
import type { Client } from '../../src/store/clients.js';

const ACME: Client = { kind: 'tenant', name: 'acme' };

describe('tokens kept in Postgres', () => {
  const nothing = (): Promise<void> => Promise.resolve();

  /** A store with one token, `good`, that counts how often it is asked. */
  function world() {
    const state = { nowMs: 0, asked: 0, good: true, away: false };
    const tokens = createStoredTokens(
      {
        find: (digest) => {
          state.asked += 1;
          if (state.away) return Promise.reject(new Error('away'));
          return Promise.resolve(state.good && digest === 'good' ? ACME : undefined);
        },
      },
      () => state.nowMs,
    );
    return { state, tokens };
  }

  it('are asked for once in two seconds, by however many requests', async () => {
    const { state, tokens } = world();

    const found = await Promise.all(
      Array.from({ length: 1_000 }, () => tokens.find('good', nothing)),
    );
    state.nowMs = 1_999;
    await tokens.find('good', nothing);

    assert.deepEqual(new Set(found), new Set([ACME]));
    assert.equal(state.asked, 1);
  });

  it('are good for two seconds at most after they are revoked', async () => {
    const { state, tokens } = world();
    await tokens.find('good', nothing);
    state.good = false;

    state.nowMs = 1_999;
    assert.deepEqual(await tokens.find('good', nothing), ACME);
    state.nowMs = 2_000;
    assert.equal(await tokens.find('good', nothing), undefined);
    assert.equal(await tokens.find('good', nothing), undefined);
  });

  it('are known as soon as they are made: that a token is nobody’s is not remembered', async () => {
    const { state, tokens } = world();
    state.good = false;
    assert.equal(await tokens.find('good', nothing), undefined);

    state.good = true;

    assert.deepEqual(await tokens.find('good', nothing), ACME);
  });

  it('let nobody in while Postgres is away, but for those looked up a moment ago', async () => {
    const { state, tokens } = world();
    await tokens.find('good', nothing);
    state.away = true;

    assert.deepEqual(await tokens.find('good', nothing), ACME);
    await assert.rejects(tokens.find('unknown', nothing), /away/);
    state.nowMs = 2_000;
    await assert.rejects(tokens.find('good', nothing), /away/);

    state.away = false;
    assert.deepEqual(await tokens.find('good', nothing), ACME);
  });

  it('are not asked for where strangers have had too many tries; who was known is', async () => {
    const { state, tokens } = world();
    const tooMany = (): Promise<void> => Promise.reject(new Error('too many'));
    await tokens.find('good', nothing);

    state.nowMs = 2_000;
    assert.deepEqual(await tokens.find('good', tooMany), ACME);
    await assert.rejects(tokens.find('guess', tooMany), /too many/);

    assert.equal(state.asked, 2);
  });
});
