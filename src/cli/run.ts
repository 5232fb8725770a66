import { CommanderError } from 'commander';
import { ConfigError } from '../config.js';
import type { Environment } from '../config.js';
import { CommandFailure, EXIT } from './exit-codes.js';
import type { ExitCode } from './exit-codes.js';
import { createProgram } from './program.js';
import { createTerminal } from './terminal.js';
import type { Streams } from './terminal.js';

export interface World extends Streams {
  readonly env: Environment;
  /** Comes with ctrl-c. */
  readonly interrupted: AbortSignal;
}

/** Runs one command line. @returns its exit code. */
export async function runCommandLine(
  args: readonly string[],
  { env, interrupted, ...streams }: World,
): Promise<ExitCode> {
  let exitCode: ExitCode = EXIT.done;
  const program = createProgram(async (options, command) => {
    const json = 'json' in options && options.json === true;
    const terminal = createTerminal(streams, json);
    try {
      exitCode = await command({ env, terminal, interrupted });
    } catch (error) {
      const failure = failureOf(error);
      const { message, todo, problem } = failure;
      if (json) {
        const told = problem ?? { title: message, ...(todo !== undefined && { detail: todo }) };
        terminal.out(JSON.stringify({ error: told }));
      } else {
        terminal.note(message);
        if (todo !== undefined) terminal.note(todo);
      }
      exitCode = failure.exitCode;
    }
  });
  for (const command of [
    program,
    ...program.commands,
    ...program.commands.flatMap((c) => c.commands),
  ]) {
    command.exitOverride().configureOutput({
      writeOut: (text) => void streams.stdout.write(text),
      writeErr: (text) => void streams.stderr.write(text),
    });
    command.showHelpAfterError(`See: ${nameOf(command)} --help`).showSuggestionAfterError();
  }
  try {
    await program.parseAsync(args, { from: 'user' });
    return exitCode;
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return error.exitCode === 0 ? EXIT.done : EXIT.usage;
  }
}

function failureOf(error: unknown): CommandFailure {
  if (error instanceof CommandFailure) return error;
  if (error instanceof ConfigError) return new CommandFailure(EXIT.usage, error.message);
  throw error;
}

function nameOf(command: { name(): string; parent: { name(): string } | null }): string {
  const parent = command.parent === null ? '' : `${command.parent.name()} `;
  return `${parent === 'ops ' ? 'order-saga ' : ''}${parent}${command.name()}`;
}
