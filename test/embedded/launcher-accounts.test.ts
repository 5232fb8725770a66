import assert from 'node:assert/strict';
import { access, chmod, chown, copyFile, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { canReach } from '../../src/embedded/postgres-account.js';
import { folderElsewhere } from '../../src/embedded/postgres-place.js';
import {
  folderOf,
  launchStack,
  living,
  pidsOf,
  removeFolders,
  stackEnvironment,
  stackOf,
} from '../support/launched-stack.js';

const READY = 'Ctrl-c drains and stops everything';

/** "nobody": every system has it, and it owns nothing. */
const PLAIN_USER = { uid: 65_534, gid: 65_534 };

// Only root can become somebody else; whoever runs the tests as a plain user runs all of them as one.
if (process.getuid?.() === 0) {
  describe('the embedded stack started by root', function () {
    this.timeout(60_000);

    it('puts Postgres elsewhere when only root can enter the data folder, and says so', async () => {
      const env = await stackEnvironment();
      const elsewhere = folderElsewhere(env.DATA_DIR);
      await chmod(folderOf(env), 0o700);
      const launcher = launchStack(env);

      await launcher.says(READY);

      const stack = await stackOf(env.DATA_DIR);
      assert.equal(stack.postgresFolder, elsewhere);
      assert.ok(launcher.output().includes(elsewhere));
      process.kill(launcher.pid, 'SIGTERM');
      assert.equal(await launcher.exitCode, 0);
      assert.deepEqual(await living(pidsOf(stack)), []);
      await access(join(elsewhere, 'data', 'PG_VERSION'));
      await removeFolders(env);
    });
  });

  describe('the embedded stack started by a plain user', function () {
    this.timeout(60_000);
    const checkout = fileURLToPath(new URL('../..', import.meta.url));
    let mayEnter = false;

    before(async () => {
      mayEnter = await canReach(PLAIN_USER, checkout);
    });

    it('keeps everything in its data folder', async () => {
      // In a checkout below root's home a plain user has nothing to start: refusing is all there is to see.
      const env = await stackEnvironment();
      const folder = folderOf(env);
      const cli = join(folder, 'temporal');
      await copyFile(env['TEMPORAL_CLI_PATH']!, cli);
      await chmod(cli, 0o755);
      await mkdir(env.DATA_DIR);
      for (const path of [folder, env.DATA_DIR]) await chown(path, PLAIN_USER.uid, PLAIN_USER.gid);
      const launcher = launchStack({ ...env, TEMPORAL_CLI_PATH: cli }, PLAIN_USER);

      if (mayEnter) {
        await launcher.says(READY);
        const stack = await stackOf(env.DATA_DIR);
        assert.equal(stack.postgresFolder, join(env.DATA_DIR, 'postgres'));
        process.kill(launcher.pid, 'SIGTERM');
        assert.equal(await launcher.exitCode, 0);
        assert.deepEqual(await living(pidsOf(stack)), []);
      } else {
        assert.notEqual(await launcher.exitCode, 0);
      }
      await removeFolders(env);
    });
  });
}
