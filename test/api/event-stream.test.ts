import assert from 'node:assert/strict';
import { Writable } from 'node:stream';
import { createEventStream } from '../../src/api/event-stream.js';
import { until } from '../support/until.js';

const eventOf = (n: number, isFinal = false) => ({ id: String(n), text: `id: ${n}\n\n`, isFinal });

describe('event stream', () => {
  it('holds one event for a reader that is slow, the latest, and ends after the final one', async () => {
    const { stream, reader } = readBy();
    stream.show(eventOf(0));
    await until(() => reader.chunks.length === 1);

    for (let n = 1; n < 1_000; n++) stream.show(eventOf(n));
    stream.show(eventOf(1_000, true));
    stream.show(eventOf(1_001));
    assert.ok(stream.readable.readableLength < 100);
    while (!reader.isEnded()) {
      reader.take();
      await new Promise(setImmediate);
    }

    // What was on its way when the reader stopped, and the last.
    const shown = reader.chunks.join('').match(/^id: .+$/gm) ?? [];
    assert.equal(shown.at(-1), 'id: 1000');
    assert.ok(shown.length <= 3, shown.join());
  });

  it('shows that it lives to a reader that is ready, and nothing to one that is not', async () => {
    const { stream, reader } = readBy();
    await until(() => reader.chunks.length === 1);

    for (let n = 0; n < 1_000; n++) stream.beat();
    for (let n = 0; n < 5; n++) {
      reader.take();
      await new Promise(setImmediate);
    }
    assert.equal(reader.chunks.join('').match(/^:$/gm)?.length ?? 0, 0);

    stream.beat();
    reader.take();
    await until(() => reader.chunks.join('').endsWith(':\n\n'));
    stream.readable.destroy();
  });

  it('ends without an event when it is told to', async () => {
    const { stream, reader } = readBy();

    stream.end();
    while (!reader.isEnded()) {
      reader.take();
      await new Promise(setImmediate);
    }

    assert.equal(reader.chunks.join(''), 'retry: 1000\n\n');
  });

  /** A stream with a reader behind it that takes one chunk at a time, when the test says so. */
  function readBy() {
    const stream = createEventStream();
    const chunks: string[] = [];
    let taken: (() => void) | undefined;
    let ended = false;
    const writable = new Writable({
      highWaterMark: 1,
      write: (chunk: Buffer, _encoding, done) => {
        chunks.push(chunk.toString());
        taken = done;
      },
      final: (done) => {
        ended = true;
        done();
      },
    });
    stream.readable.pipe(writable);
    const take = (): void => {
      const done = taken;
      taken = undefined;
      done?.();
    };
    return { stream, reader: { chunks, take, isEnded: () => ended } };
  }
});
