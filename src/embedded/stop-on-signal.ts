/**
 * A signal that is aborted by the first ctrl-c, kill or hang-up. Further ones change nothing: a terminal sends ctrl-c
 * to the whole group and npm passes it on again, so a second one is often the first, and must not cut the drain short.
 */
export function stopOnSignal(say: (line: string) => void): AbortSignal {
  const controller = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      say(controller.signal.aborted ? 'Stopping already …' : `${signal}: stopping …`);
      controller.abort();
    });
  }
  // After a hang-up there is nobody to read; that is no reason to leave roles running.
  process.stdout.on('error', () => undefined);
  process.stderr.on('error', () => undefined);
  return controller.signal;
}
