import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const execute = promisify(execFile);

/** The account that Postgres runs as where ours is root, which it refuses to run as. */
export interface Account {
  readonly uid: number;
  readonly gid: number;
}

const USER = 'postgres';

/**
 * The account for the server: none of its own for a plain user; for root the system's `postgres`,
 * which is made where it is missing.
 *
 * @throws Error that says what to do, where it can't be made.
 */
export async function postgresAccount(): Promise<Account | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const existing = await lookUp();
  if (existing !== undefined) return existing;
  try {
    await execute('useradd', ['--system', '--user-group', '--no-create-home', USER]);
  } catch (error) {
    throw new Error(
      `Postgres does not run as root, and the user "${USER}" could not be made for it. ` +
        'Make that user, or start as a plain user, or set DATABASE_URL, PAYMENT_DATABASE_URL and ' +
        'INVENTORY_DATABASE_URL.',
      { cause: error },
    );
  }
  const made = await lookUp();
  if (made === undefined) throw new Error(`The user "${USER}" was made and is not to be found.`);
  return made;
}

/** Tells whether the account can get to a path and enter or run it: tried, as modes alone do not tell. */
export async function canReach(account: Account | undefined, path: string): Promise<boolean> {
  try {
    await execute('test', ['-x', path], { cwd: '/', ...account });
    return true;
  } catch {
    return false;
  }
}

async function lookUp(): Promise<Account | undefined> {
  try {
    const [uid, gid] = await Promise.all([
      execute('id', ['-u', USER]),
      execute('id', ['-g', USER]),
    ]);
    return { uid: Number(uid.stdout), gid: Number(gid.stdout) };
  } catch {
    return undefined;
  }
}
