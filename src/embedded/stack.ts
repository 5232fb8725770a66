import type { StackSettings } from './environment.js';
import { ROLES, writeStack } from './stack-file.js';
import type { RoleEntry, RoleName } from './stack-file.js';
import { supervise } from './supervisor.js';
import type { Role, Supervised } from './supervisor.js';

/** Roles that stop together; each group after the one before: callers first, so that nobody's calls are cut. */
const STOP_ORDER: readonly (readonly RoleName[])[] = [
  ['api', 'worker'],
  ['payment', 'inventory'],
  ['temporal'],
  ['postgres'],
];

/** The running stack: its roles, and the file that tells of them. */
export interface OpenStack {
  /** Starts a role, keeps it running, and records each of its processes in `stack.json`. */
  readonly start: (role: Role, url?: string) => Promise<Supervised>;
  readonly record: (facts: {
    env?: Record<string, string>;
    postgresFolder?: string;
  }) => Promise<void>;
  /** Stops every role in its order. */
  readonly stop: () => Promise<void>;
}

export function openStack(
  { dataDir }: StackSettings,
  signal: AbortSignal,
  say: (line: string) => void,
): OpenStack {
  const supervised = new Map<RoleName, Supervised>();
  const entries = new Map<RoleName, RoleEntry>();
  let env: Record<string, string> = {};
  let postgresFolder: string | undefined;
  let writing: Promise<void> = Promise.resolve();

  // One after the other: the last write must be the one that knows most.
  const write = (): Promise<void> => {
    writing = writing.then(() =>
      writeStack({
        launcher: { pid: process.pid },
        dataDir,
        ...(postgresFolder !== undefined && { postgresFolder }),
        roles: Object.fromEntries(
          ROLES.flatMap((name) => {
            const entry = entries.get(name);
            return entry === undefined ? [] : [[name, entry]];
          }),
        ),
        env,
      }),
    );
    return writing;
  };

  return {
    start: async (role, url) => {
      const onPid = (pid: number): Promise<void> => {
        for (const name of role.roles)
          entries.set(name, { pid, ...(url !== undefined && { url }) });
        return write();
      };
      const one = supervise(role, signal, onPid, say);
      for (const name of role.roles) supervised.set(name, one);
      await one.start();
      return one;
    },
    record: (facts) => {
      env = facts.env ?? env;
      postgresFolder = facts.postgresFolder ?? postgresFolder;
      return write();
    },
    stop: async () => {
      for (const group of STOP_ORDER) {
        const roles = [...new Set(group.flatMap((name) => supervised.get(name) ?? []))];
        if (roles.length > 0) say(`Stopping ${roles.map(({ name }) => name).join(' and ')} …`);
        await Promise.all(roles.map((role) => role.stop()));
      }
    },
  };
}
