/** Runs a program; what it throws ends the process with one readable line, not a stack: its cause is outside. */
export async function runOrExplain(run: () => Promise<void>): Promise<void> {
  try {
    await run();
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exit(1);
  }
}
