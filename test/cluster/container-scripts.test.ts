import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { freePort } from '../support/free-port.js';
import { stackOf } from '../support/launched-stack.js';
import { sharedStack } from '../support/stack.js';
import type { RunningStack } from '../support/stack.js';
import { runStep } from './deploy-step.js';

describe('what the containers run beside the roles', () => {
  let stack: RunningStack;
  let env: Readonly<Record<string, string>>;

  before(async function () {
    this.timeout(180_000); // builds, downloads and starts on a fresh machine
    stack = await sharedStack();
    env = { ...stack.env, ...(await stackOf(stack.env['DATA_DIR'] ?? '')).env };
  });

  it('calls a role healthy that says it is ready', async () => {
    const output = await run('ready.js', [`http://127.0.0.1:${env['PORT'] ?? ''}/readyz`]);

    assert.match(output, /^200 /);
  });

  it('calls a role unhealthy that refuses, and one that is not there', async () => {
    await assert.rejects(run('ready.js', [`http://127.0.0.1:${env['PORT'] ?? ''}/nowhere`]), /404/);
    await assert.rejects(run('ready.js', [`http://127.0.0.1:${await freePort()}/readyz`]));
  });

  it('calls a worker healthy that polls', async () => {
    assert.equal(await run('worker-polls.js'), '');
  });

  it('calls a worker unhealthy whose task queue nobody polls, or whose Temporal is away', async () => {
    await assert.rejects(
      run('worker-polls.js', [], { TASK_QUEUE: `nobody-${randomUUID()}` }),
      /no worker of .* has polled/,
    );
    await assert.rejects(
      run('worker-polls.js', [], { TEMPORAL_ADDRESS: `127.0.0.1:${await freePort()}` }),
      /Temporal gave no answer|UNAVAILABLE|connect/i,
    );
  });

  it('stocks a new SKU once, and leaves one alone that has been stocked', async () => {
    const sku = `NEW-${randomUUID()}`;

    await run('seed-stock.js', [`${sku}=3`]);
    await run('seed-stock.js', [`${sku}=7`]);

    assert.equal((await stack.inventory.json(`/stock/${sku}`))['onHand'], 3);
    await assert.rejects(run('seed-stock.js', [`${sku}-2=many`]), /400/);
  });

  function run(script: string, args: readonly string[] = [], more = {}): Promise<string> {
    return runStep(process.execPath, {
      args: [`deploy/app/${script}`, ...args],
      env: { ...env, ...more },
    });
  }
});
