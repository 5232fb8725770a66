import { cp, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Client } from '@temporalio/client';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import type { Violation } from './check.js';
import type { Journal } from './journal.js';
import type { Product } from './product.js';

/** 30 histories: the first offenders of each kind show what happened. */
const MAX_HISTORIES = 30;

/** Keeps what it takes to understand a failure: the journal with the ledgers, logs, histories of the offenders. */
export async function keepEvidence(
  folder: string,
  journalFile: string,
  journal: Journal,
  violations: readonly Violation[],
  product: Product,
  temporal: Client,
): Promise<void> {
  const histories = join(folder, 'histories');
  await mkdir(histories, { recursive: true });
  await cp(journalFile, join(folder, 'journal.ndjson'));
  await writeFile(join(folder, 'violations.json'), JSON.stringify(violations, null, 2));
  await product.saveLogs(join(folder, 'logs'));
  const offenders = [...new Set(violations.flatMap(({ orderIds }) => orderIds))];
  for (const orderId of offenders.slice(0, MAX_HISTORIES)) {
    const order = journal.find((entry) => entry.type === 'order' && entry.orderId === orderId);
    const sagaId = order?.type === 'order' ? order.document?.sagaId : undefined;
    for (const workflowId of [...(sagaId === undefined ? [] : [sagaId]), `repair-${orderId}`]) {
      try {
        const history = await temporal.workflow.getHandle(workflowId).fetchHistory();
        const file = join(histories, `${orderId}.${workflowId.slice(0, 13)}.json`);
        await writeFile(file, historyToJSON(history));
      } catch {
        // Most orders had no repair.
      }
    }
  }
}
