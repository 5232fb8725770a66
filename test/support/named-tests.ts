/** A test that a document names as the proof of what it says. */
export interface NamedTest {
  readonly file: string;
  /** Of a test, or of a suite whose every test is meant. */
  readonly title: string;
}

/** The documents whose promises rest on tests. */
export const DOCUMENTS = ['README.md', 'docs/faults.md', 'docs/operations.md'] as const;

/** Every `` `test/file.test.ts` › title `` of a text; it ends with its line, its cell, `<br>` or a semicolon. */
export function namedTests(text: string): readonly NamedTest[] {
  return [...text.matchAll(/`(test\/[^`]+)` › (.+?)(?= *(?:\||<br>|;$|$))/gm)].map(
    ([, file = '', title = '']) => ({ file, title }),
  );
}
