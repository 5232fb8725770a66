/** Process: fails where a test that a document names did not run and pass, by the report of the runs. */
import { readFileSync } from 'node:fs';
import { DOCUMENTS, namedTests } from './named-tests.js';
import { readReport } from './ran-tests.js';

const [report] = process.argv.slice(2);
if (report === undefined) throw new Error('Name the file that TESTS_RAN_FILE was set to.');
const ran = readReport(report);
const named = DOCUMENTS.flatMap((document) =>
  namedTests(readFileSync(document, 'utf8')).map((test) => ({ document, ...test })),
);
const broken = named.filter(({ file, title }) => {
  const tests = ran.filter((test) => test.file === file && test.titles.includes(title));
  return tests.length === 0 || tests.some(({ passed }) => !passed);
});
for (const { document, file, title } of broken) {
  process.stderr.write(`${document} names a test that did not run and pass: ${file} › ${title}\n`);
}
process.stdout.write(
  `${named.length - broken.length} of ${named.length} named tests have passed\n`,
);
process.exit(broken.length === 0 ? 0 : 1);
