import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { build } from '../support/build.js';
import { temporalCli } from '../support/temporal.js';

describe('npm run demo', function () {
  this.timeout(180_000); // builds, and starts a whole stack on a busy machine

  it('tells the story on a stack of its own, and every count of it is right', async () => {
    await build();
    const { path } = await temporalCli();
    const script = fileURLToPath(new URL('../../dist/demo/main.js', import.meta.url));

    // Rejected where its exit code is not 0.
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [script], {
      env: { PATH: process.env['PATH'], TEMPORAL_CLI_PATH: path },
    });

    const titles = [...stdout.matchAll(/^([0-9]+)\. (.*)$/gm)].map(([, number = '']) => number);
    assert.deepEqual(titles, ['1', '2', '3', '4', '5', '6', '7']);
    assert.doesNotMatch(stdout, /✗|WRONG/);
    assert.ok([...stdout.matchAll(/✓/g)].length >= 18, stdout);
    assert.match(
      stdout,
      /\nEvery count is right: 5 orders, 4 charges, 2 refunds, 2 reservations, 0 releases, 1 charge barred, 1 reservation barred, told in [0-9]+ s\.\n$/,
    );
    assert.match(stderr, /worker was ended by SIGKILL; it is started again/);
    assert.match(stderr, /\nStopped\.\n$/);
  });
});
