import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { DeterminismViolationError } from '@temporalio/workflow';
import { Worker } from '@temporalio/worker';
import { workflowBundle } from '../support/workflow-bundle.js';

const HISTORIES = new URL('../histories/', import.meta.url);

interface StoredHistory {
  readonly events: Record<string, Record<string, unknown>>[];
}

/** `0.1.0/confirmed.json`, of every version and every way an order can end. */
const files = readdirSync(HISTORIES, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.json'))
  .sort();

describe('replay of stored histories', () => {
  before(async function () {
    this.timeout(60_000); // bundles the workflows
    assert.ok(files.length > 0, 'there must be histories to replay');
    await workflowBundle();
  });

  for (const file of files) {
    it(`follows ${file}`, async () => {
      await replay(await load(file));
    });
  }

  it('has no trace of the machine that the histories were made on', async () => {
    for (const file of files) {
      const text = await readFile(new URL(file, HISTORIES), 'utf8');
      assert.doesNotMatch(text, /"stackTrace": "[^"]|"identity": "(?!worker")/, file);
    }
  });

  it('fails where the workflow would do something else', async () => {
    const history = await load(files.find((name) => name.endsWith('/out-of-stock.json'))!);
    const refund = history.events.find((event) => event['activityTaskScheduledEventAttributes']);
    refund!['activityTaskScheduledEventAttributes']!['activityType'] = { name: 'somethingElse' };

    await assert.rejects(() => replay(history), DeterminismViolationError);
  });

  async function replay(history: StoredHistory): Promise<void> {
    await Worker.runReplayHistory({ workflowBundle: await workflowBundle() }, history, 'replayed');
  }
});

async function load(file: string): Promise<StoredHistory> {
  return JSON.parse(await readFile(new URL(file, HISTORIES), 'utf8')) as StoredHistory;
}
