import { copyFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

/** A step of `npm run build`: bundles the order desk, so that the page needs nothing but this server. */
const source = fileURLToPath(new URL('../src/desk/', import.meta.url));
const target = fileURLToPath(new URL('./desk/', import.meta.url));

await build({
  entryPoints: [`${source}desk.tsx`, `${source}desk.css`],
  outdir: target,
  bundle: true,
  format: 'esm',
  target: 'es2022',
  minify: true,
  // Relative paths of the sources would make the bytes depend on where they lie.
  legalComments: 'none',
  logLevel: 'warning',
});
await Promise.all(
  ['index.html', 'icon.svg'].map((name) => copyFile(`${source}${name}`, `${target}${name}`)),
);
