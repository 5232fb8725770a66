import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { access, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { livingLauncher, releaseLock, takeLock } from '../../src/embedded/launcher-lock.js';
import { stopOrphans } from '../../src/embedded/orphans.js';
import { stackFile, writeStack } from '../../src/embedded/stack-file.js';
import { living } from '../support/launched-stack.js';

describe('what a killed launcher leaves', () => {
  let dataDir: string;
  let processes: ChildProcess[];

  beforeEach(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'order-saga-orphans-'));
    processes = [];
  });
  afterEach(async () => {
    for (const child of processes) child.kill('SIGKILL');
    await rm(dataDir, { recursive: true });
  });

  it('is stopped where pid and data folder agree', async () => {
    const pid = await sleeper(`--data-dir=${dataDir}`);
    await record(pid, dataDir);

    await stopOrphans(dataDir, () => undefined);

    assert.deepEqual(await living([pid]), []);
    await assert.rejects(access(stackFile(dataDir)));
  });

  it('is left alone where the pid has become that of another process', async () => {
    const pid = await sleeper('--anything');
    await record(pid, dataDir);

    await stopOrphans(dataDir, () => undefined);

    assert.deepEqual(await living([pid]), [pid]);
  });

  it("is left alone where it is another folder's, though this one has a copy of its stack.json", async () => {
    const pid = await sleeper('--data-dir=/somewhere/else');
    await record(pid, dataDir);
    const text = await readFile(stackFile(dataDir), 'utf8');
    await writeFile(stackFile(dataDir), text.replaceAll(dataDir, '/somewhere/else'));

    await stopOrphans(dataDir, () => undefined);

    assert.deepEqual(await living([pid]), [pid]);
  });

  it('does not bar the next launcher, which then bars others', async () => {
    const dead = { pid: await ended(), started: '1', dataDir };
    await writeFile(join(dataDir, 'launcher.lock'), JSON.stringify(dead));

    assert.equal(await livingLauncher(dataDir), undefined);
    assert.equal(await takeLock(dataDir), true);
    assert.equal(await livingLauncher(dataDir), process.pid);
    assert.equal(await takeLock(dataDir), false);
    await releaseLock(dataDir);
    assert.equal(await livingLauncher(dataDir), undefined);
  });

  it('does not bar the next launcher when its pid has become that of another process', async () => {
    const reused = { pid: process.pid, started: 'long ago', dataDir };
    await writeFile(join(dataDir, 'launcher.lock'), JSON.stringify(reused));

    assert.equal(await livingLauncher(dataDir), undefined);
  });

  function record(pid: number, folder: string): Promise<void> {
    return writeStack({
      launcher: { pid: 1 },
      dataDir: folder,
      roles: { payment: { pid } },
      env: {},
    });
  }

  /** A process that runs until it is stopped, with an argument that it does not read. */
  async function sleeper(argument: string): Promise<number> {
    const script = 'process.stdout.write("up"); setInterval(() => {}, 1000)';
    const child = spawn(process.execPath, ['-e', script, '--', argument]);
    processes.push(child);
    await new Promise((resolve) => child.stdout.once('data', resolve));
    return child.pid!;
  }

  async function ended(): Promise<number> {
    const child = spawn(process.execPath, ['-e', '']);
    await new Promise((resolve) => child.once('close', resolve));
    return child.pid!;
  }
});
