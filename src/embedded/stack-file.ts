import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** In the order in which they are stopped: whoever calls goes before whom it calls. */
export const ROLES = ['api', 'worker', 'payment', 'inventory', 'temporal', 'postgres'] as const;
export type RoleName = (typeof ROLES)[number];

export interface RoleEntry {
  readonly pid: number;
  readonly url?: string;
}

/** What `DATA_DIR/stack.json` says of a running stack. */
export interface Stack {
  readonly launcher: { readonly pid: number };
  /** The folder it was written for: a copy of it elsewhere is about processes of another stack. */
  readonly dataDir: string;
  /** Where the Postgres cluster is, when it is embedded: not always below the data folder. */
  readonly postgresFolder?: string;
  readonly roles: Readonly<Partial<Record<RoleName, RoleEntry>>>;
  /** What a further `npm run start:<role>` needs to join. */
  readonly env: Readonly<Record<string, string>>;
}

export function stackFile(dataDir: string): string {
  return join(dataDir, 'stack.json');
}

/** The stack recorded in this data folder; undefined where there is none, or only a copy or a torso. */
export async function readStack(dataDir: string): Promise<Stack | undefined> {
  try {
    const stack = JSON.parse(await readFile(stackFile(dataDir), 'utf8')) as Stack;
    return stack.dataDir === dataDir ? stack : undefined;
  } catch {
    return undefined;
  }
}

/** Replaces the file at one stroke, for readers who watch it. It holds tokens and passwords, so it is ours alone. */
export async function writeStack(stack: Stack): Promise<void> {
  const path = stackFile(stack.dataDir);
  const fresh = `${path}.${process.pid}`;
  await writeFile(fresh, `${JSON.stringify(stack, undefined, 2)}\n`, { mode: 0o600 });
  await rename(fresh, path);
}

export async function removeStack(dataDir: string): Promise<void> {
  await rm(stackFile(dataDir), { force: true });
}
