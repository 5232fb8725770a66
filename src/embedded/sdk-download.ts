/**
 * Process: has the SDK download its Temporal CLI into a folder.
 *
 * The SDK offers no download without a start, so a dev server runs for a moment.
 * Arguments: folder, version. Exit code 0 means that `<folder>/temporal-<version>` is there.
 */
import { DefaultLogger, Runtime } from '@temporalio/worker';
import { TestWorkflowEnvironment } from '@temporalio/testing';

const [, , downloadDir = '', version = ''] = process.argv;
Runtime.install({ logger: new DefaultLogger('ERROR') });
try {
  const environment = await TestWorkflowEnvironment.createLocal({
    // Years: the SDK deletes and fetches again what is older, and a pinned version never changes.
    server: {
      executable: { type: 'cached-download', downloadDir, version, ttl: '10000 days' },
    },
  });
  await environment.teardown();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
