import { execFile } from 'node:child_process';
import { cp, mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Rig } from './rig.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** A change of `placeOrder`: a pause before each step. Made with a patch, as must be, or without. */
export type Change = 'patched' | 'unpatched';

const LOOP = 'for (const step of steps) {';
const PAUSE: Readonly<Record<Change, string>> = {
  patched: 'if (patchedAs(`pause-before-${step.name}`)) await pause(10);',
  unpatched: 'await pause(10);',
};

/** Builds the product with a change of its workflow beside the real build. @returns its folder. */
export async function changedBuild(rig: Pick<Rig, 'folder'>, change: Change): Promise<string> {
  const folder = join(rig.folder, `build-${change}`);
  await mkdir(folder);
  await cp(join(ROOT, 'dist'), join(folder, 'dist'), { recursive: true });
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  await cp(join(ROOT, 'package.json'), join(folder, 'package.json'));
  const file = join(folder, 'dist/workflows/place-order.js');
  const text = await readFile(file, 'utf8');
  if (!text.includes(LOOP)) throw new Error('placeOrder has no loop over its steps any more.');
  const imports = `import { patched as patchedAs, sleep as pause } from '@temporalio/workflow';\n`;
  await writeFile(file, imports + text.replace(LOOP, `${LOOP} ${PAUSE[change]}`));
  await rm(join(folder, 'dist/workflow-bundle.js'));
  await promisify(execFile)(process.execPath, [join(folder, 'dist/build-workflow-bundle.js')]);
  return folder;
}
