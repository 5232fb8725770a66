import assert from 'node:assert/strict';
import { HELP, parseCommand, UsageError } from '../../src/clients/command-line.js';

describe('the command line of clients', () => {
  for (const [line, expected] of [
    ['add acme', { name: 'add', client: { kind: 'tenant', name: 'acme' }, json: false }],
    [
      'add ada --operator --json',
      { name: 'add', client: { kind: 'operator', name: 'ada' }, json: true },
    ],
    ['list', { name: 'list', all: false, json: false }],
    ['list --all', { name: 'list', all: true, json: false }],
    [
      'rotate acme',
      {
        name: 'rotate',
        client: { kind: 'tenant', name: 'acme' },
        overlapSeconds: 0,
        json: false,
      },
    ],
    [
      'rotate acme --overlap=3600',
      {
        name: 'rotate',
        client: { kind: 'tenant', name: 'acme' },
        overlapSeconds: 3_600,
        json: false,
      },
    ],
    [
      'revoke acme --token 0123456789ab',
      {
        name: 'revoke',
        client: { kind: 'tenant', name: 'acme' },
        tokenId: '0123456789ab',
        json: false,
      },
    ],
    ['--help', { name: 'help', json: false }],
    ['help', { name: 'help', json: false }],
    ['add --help', { name: 'help', json: false }],
  ] as const) {
    it(`understands "${line}"`, () => {
      assert.deepEqual(parseCommand(line.split(' ')), expected);
    });
  }

  for (const line of [
    '',
    'delete acme',
    'add',
    'add one two',
    'add a/b',
    `add ${'a'.repeat(65)}`,
    'add --acme',
    'add acme --overlap=1',
    'list acme',
    'list --operator',
    'rotate acme --overlap=soon',
    'rotate acme --overlap=-1',
    'rotate acme --overlap=99999999999',
    'revoke acme --token=0123',
    'revoke acme --token=ABCDEFABCDEF',
    'revoke acme --all',
  ]) {
    it(`refuses "${line}"`, () => {
      assert.throws(() => parseCommand(line.split(' ').filter((arg) => arg !== '')), UsageError);
    });
  }

  it('tells of every command in its help', () => {
    for (const name of ['add', 'list', 'rotate', 'revoke']) assert.match(HELP, new RegExp(name));
  });
});
