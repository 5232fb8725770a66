import { readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';

/**
 * The last step of `npm run build`: bundles the workflows once, so that a worker neither waits seconds for
 * a bundler nor keeps one in its memory. Does nothing where no workflow has changed.
 */
const dist = fileURLToPath(new URL('.', import.meta.url));
const bundlePath = join(dist, 'workflow-bundle.js');

async function newestChange(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && entry.name.endsWith('.js'));
  const times = await Promise.all(
    files.map(async (file) => (await stat(join(file.parentPath, file.name))).mtimeMs),
  );
  return Math.max(...times);
}

const bundledAt = await stat(bundlePath).then(
  ({ mtimeMs }) => mtimeMs,
  () => 0,
);
const changedAt = await Promise.all(
  ['workflows', 'domain'].map((name) => newestChange(join(dist, name))),
);
if (bundledAt <= Math.max(...changedAt)) {
  const { code } = await bundleWorkflowCode({
    workflowsPath: join(dist, 'workflows/index.js'),
    logger: new DefaultLogger('WARN'),
  });
  await writeFile(bundlePath, code);
}
