import { randomUUID } from 'node:crypto';
import { dirname, delimiter } from 'node:path';
import { temporalCli } from '../support/temporal.js';
import { runStep } from './deploy-step.js';

/** What docker-compose.yml says: three days, against the one that an answer is kept. */
const RETENTION = '72h';

/**
 * Makes a namespace as the deployment does, with a name of its own: stacks that shared one would take one
 * another's orders.
 */
export async function createNamespace(address: string): Promise<string> {
  const namespace = `order-saga-${randomUUID()}`;
  const { path } = await temporalCli();
  await runStep('deploy/temporal/create-namespace.sh', {
    env: {
      PATH: [dirname(path), process.env['PATH']].join(delimiter),
      HOME: process.env['HOME'],
      TEMPORAL_ADDRESS: address,
      TEMPORAL_NAMESPACE: namespace,
      TEMPORAL_RETENTION: RETENTION,
    },
  });
  return namespace;
}
