import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { EXIT } from '../../src/cli/exit-codes.js';
import { createProgram } from '../../src/cli/program.js';

const DOCUMENT = readFileSync(new URL('../../docs/cli.md', import.meta.url), 'utf8');

describe('docs/cli.md', () => {
  it('has every command, and no other', () => {
    const { commands } = createProgram(() => Promise.resolve());
    const sections = [...DOCUMENT.matchAll(/^### (.*)$/gm)].map(([, title = '']) => title);

    assert.deepEqual(sections.sort(), commands.map((command) => command.name()).sort());
  });

  it('has every option of every command', () => {
    const { commands } = createProgram(() => Promise.resolve());
    const options = commands
      .flatMap((command) => [command, ...command.commands])
      .flatMap((command) => command.options.map(({ long }) => long ?? ''));

    assert.ok(options.length > 20);
    assert.deepEqual(
      options.filter((option) => !DOCUMENT.includes(option)),
      [],
    );
  });

  it('has every exit code, and no other', () => {
    const codes = [...DOCUMENT.matchAll(/^\| `([0-9]+)` +\|/gm)].map(([, code]) => Number(code));

    assert.deepEqual(codes, Object.values(EXIT));
  });
});
