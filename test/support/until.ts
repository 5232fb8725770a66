/** 100 s: above the time limit of nearly every test; a wait that nothing ends would keep the run from ending. */
const PATIENCE_MS = 100_000;

/** Waits for a condition, looked at every 20 ms; the test's own time limit says when it took too long. */
export async function until(condition: () => Promise<boolean> | boolean): Promise<void> {
  const deadline = Date.now() + PATIENCE_MS;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(`Waited in vain until ${condition.toString()}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
