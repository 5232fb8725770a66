import { sleep } from '@temporalio/workflow';

/** Does nothing for a day, which is what the tests of time skipping need. */
export async function sleepADay(): Promise<string> {
  await sleep('1 day');
  return 'awake';
}
