/** Waits for a condition, looked at every 20 ms; the test's own time limit ends the wait. */
export async function until(condition: () => Promise<boolean> | boolean): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 20));
}
