import { CancellationScope } from '@temporalio/workflow';

/**
 * Undoes one step, however often it must try.
 *
 * @param moveOn called when this undo will take long (a person is needed): the saga then goes on with the
 *   undos of the earlier steps and still waits for this one before it ends.
 */
export type Undo = (moveOn: () => void) => Promise<void>;

export interface Saga<Step extends string> {
  /**
   * Registers the undo of a step. Called **before** the step: a step that timed out may still have happened.
   * So an undo must be harmless where there is nothing to undo, and bar a step that is still on its way.
   */
  undoWith(step: Step, undo: Undo): void;
  /** Forgets the undo of a step that definitely did nothing. */
  forget(step: Step): void;
  /** The steps whose undo is registered, oldest first. */
  registered(): readonly Step[];
  /**
   * Runs every undo that is registered, newest first, each on its own: one that fails does not stop the rest.
   * Shielded from cancellation, since a cancel is the very reason to be here.
   *
   * @throws what an undo threw, after all have ended. Undos handle the failures of the world themselves, so
   *   this is our bug: it fails the workflow task, is retried until a fix is deployed, and loses nothing.
   */
  undoAll(): Promise<void>;
}

/** Opens an empty list of undos. It knows nothing of orders: take it into your own workflows. */
export function openSaga<Step extends string>(): Saga<Step> {
  const undos = new Map<Step, Undo>();
  return {
    undoWith: (step, undo) => {
      undos.set(step, undo);
    },
    forget: (step) => {
      undos.delete(step);
    },
    registered: () => [...undos.keys()],
    undoAll: () => CancellationScope.nonCancellable(() => runNewestFirst([...undos.values()])),
  };
}

async function runNewestFirst(undos: readonly Undo[]): Promise<void> {
  const running: Promise<void>[] = [];
  for (const undo of undos.toReversed()) {
    await new Promise<void>((moveOn) => {
      const ended = undo(moveOn);
      running.push(ended);
      // A failure is not lost: it is awaited below, when the other undos have had their turn.
      ended.then(moveOn, () => moveOn());
    });
  }
  const results = await Promise.allSettled(running);
  for (const result of results) if (result.status === 'rejected') throw result.reason;
}
