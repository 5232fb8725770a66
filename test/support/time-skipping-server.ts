import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { TestWorkflowEnvironment } from '@temporalio/testing';

const execute = promisify(execFile);

const MAIN_CLASS = 'io.temporal.testserver.TestServer';

let wrapper: Promise<string> | undefined;
let folder: string | undefined;

/**
 * The SDK's own time-skipping test server: its download, otherwise the same server from Maven Central. Its
 * maintainers mean to retire it, so only a marked subset of the tests runs on it beside the dev server.
 *
 * One environment is one server, whose clock all its workflows share; tear it down after the test.
 *
 * @throws Error that says what to install, where neither can be had: such a test fails, it is never skipped.
 */
export async function createTimeSkippingEnvironment(): Promise<TestWorkflowEnvironment> {
  const failures: string[] = [];
  if (wrapper === undefined) {
    try {
      return await TestWorkflowEnvironment.createTimeSkipping();
    } catch (error) {
      failures.push(`the SDK's download: ${messageOf(error)}`);
    }
  }
  try {
    wrapper ??= writeWrapper();
    const path = await wrapper;
    return await TestWorkflowEnvironment.createTimeSkipping({
      server: { executable: { type: 'existing-path', path } },
    });
  } catch (error) {
    failures.push(`Maven Central: ${messageOf(error)}`);
  }
  throw new Error(
    [
      'No time-skipping test server to run this test on. Tried:',
      ...failures.map((line) => `  - ${line}`),
      "Let this machine reach the Temporal SDK's download site, or install Java 11 or newer and Maven.",
    ].join('\n'),
  );
}

export async function removeTestServer(): Promise<void> {
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
}

/** Resolves the pinned jars and makes of them the one executable that the SDK wants, called with the port. */
async function writeWrapper(): Promise<string> {
  folder = await mkdtemp(join(tmpdir(), 'order-saga-test-server-'));
  const classPathFile = join(folder, 'class-path');
  const pom = fileURLToPath(new URL('./test-server/pom.xml', import.meta.url));
  await execute('java', ['-version']);
  const goal = ['dependency:build-classpath', `-Dmdep.outputFile=${classPathFile}`];
  await execute('mvn', ['--batch-mode', '--quiet', '--file', pom, ...goal]);
  const classPath = (await readFile(classPathFile, 'utf8')).trim().split(delimiter);
  const path = join(folder, 'temporal-test-server');
  const quoted = classPath.join(delimiter).replaceAll("'", "'\\''");
  const script = `#!/bin/sh\nexec java -cp '${quoted}' ${MAIN_CLASS} "$@"\n`;
  await writeFile(path, script, { mode: 0o700 });
  return path;
}

function messageOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).split('\n')[0] ?? '';
}
