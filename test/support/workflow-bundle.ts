import { fileURLToPath } from 'node:url';
import { DefaultLogger, bundleWorkflowCode } from '@temporalio/worker';
import type { WorkflowBundleWithSourceMap } from '@temporalio/worker';

let bundling: Promise<WorkflowBundleWithSourceMap> | undefined;

/** The product's workflows, bundled once for all workers of this process: it takes seconds. */
export function workflowBundle(): Promise<WorkflowBundleWithSourceMap> {
  bundling ??= bundleWorkflowCode({
    workflowsPath: fileURLToPath(new URL('../../src/workflows/index.ts', import.meta.url)),
    logger: new DefaultLogger('WARN'),
  });
  return bundling;
}
