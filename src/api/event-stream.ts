import { Readable } from 'node:stream';
import type { OrderEvent } from './order-watch.js';

/** 1 s before a client comes back whose stream was cut: as long as a rolling deployment's gap. */
const RETRY_MS = 1_000;

export interface EventStream {
  readonly readable: Readable;
  readonly show: (event: OrderEvent) => void;
  readonly end: () => void;
  /** Shows that the stream lives, to a reader that has taken all it was sent. */
  readonly beat: () => void;
}

/**
 * One reader's stream. It holds one event at most: what a slow reader has not taken yet is replaced by what is
 * newer, so that it gets the latest state and not a queue of old ones.
 */
export function createEventStream(): EventStream {
  let next: string | undefined = `retry: ${RETRY_MS}\n\n`;
  let isLast = false;
  let isWanted = false;
  const pass = (): void => {
    if (!isWanted) return;
    if (next !== undefined) {
      isWanted = false;
      const text = next;
      next = undefined;
      readable.push(text);
    } else if (isLast) {
      isWanted = false;
      readable.push(null);
    }
  };
  const readable = new Readable({
    // Nothing is read ahead: an event is taken when its reader is ready for it.
    highWaterMark: 0,
    read: () => {
      isWanted = true;
      pass();
    },
  });
  return {
    readable,
    show: ({ text, isFinal }) => {
      if (isLast) return;
      next = text;
      isLast = isFinal;
      pass();
    },
    end: () => {
      isLast = true;
      pass();
    },
    beat: () => {
      if (isWanted) {
        next ??= ':\n\n';
        pass();
      }
    },
  };
}
