import assert from 'node:assert/strict';
import { createGate, Overloaded } from '../src/overload.js';

const PATIENT_MS = 1_000_000;

/** A piece of work that ends when it is told to. */
function work() {
  let end = (): void => undefined;
  const done = new Promise<void>((resolve) => (end = resolve));
  return { act: () => done.then(() => 'done'), end };
}

describe('a gate', () => {
  it('lets so many through, so many wait, and turns the rest away at once', async () => {
    const gate = createGate('work', { inFlight: 2, waiting: 1 });
    const works = [work(), work(), work(), work()];

    const runs = works.map(({ act }) => gate.run(PATIENT_MS, act));
    await assert.rejects(runs[3]!, Overloaded);
    works[0]!.end();
    works[1]!.end();
    works[2]!.end();

    assert.deepEqual(await Promise.all(runs.slice(0, 3)), ['done', 'done', 'done']);
  });

  it('turns away who waited for too long, does nothing for them, and goes on', async () => {
    const gate = createGate('work', { inFlight: 1, waiting: 5 });
    const first = work();
    let begun = 0;

    const running = gate.run(PATIENT_MS, first.act);
    const late = gate.run(20, () => Promise.resolve((begun += 1)));
    await assert.rejects(late, Overloaded);
    first.end();

    assert.equal(await running, 'done');
    assert.equal(await gate.run(PATIENT_MS, () => Promise.resolve('next')), 'next');
    assert.equal(begun, 0);
  });

  it('passes on what the work throws, and frees its place', async () => {
    const gate = createGate('work', { inFlight: 1, waiting: 0 });

    await assert.rejects(
      gate.run(PATIENT_MS, () => Promise.reject(new Error('no'))),
      /no/,
    );
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(await gate.run(PATIENT_MS, () => Promise.resolve('next')), 'next');
  });
});
