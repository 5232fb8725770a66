/** How a command ended. Scripts go by these: they are as fixed as an address of the API. */
export const EXIT = {
  done: 0,
  /** The order has ended and did not go through. */
  notThrough: 1,
  usage: 2,
  refused: 3,
  unreachable: 4,
  /** `explain` has found a contradiction, or `doctor` a failure. */
  unsound: 5,
  /** The order goes on; the time to wait for its end is over. */
  unfinished: 6,
  interrupted: 130,
} as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

export const EXIT_CODES_HELP = `
Exit codes:
  0    done; for submit and watch: the order is confirmed
  1    the order has ended and did not go through: declined, out of stock, cancelled
  2    the command line or the environment is not understood
  3    refused by the API: see the problem that is shown
  4    not reachable: the API, Postgres, Temporal or a service; nothing is lost, try again
  5    not sound: explain has found a contradiction, doctor a failure
  6    not finished: the order goes on, the time to wait is over
  130  ended by ctrl-c; an order that was sent goes on`;

/** A command that can't do what it was asked to; its message is for people. */
export class CommandFailure extends Error {
  readonly exitCode: ExitCode;
  /** What to do next. */
  readonly todo: string | undefined;
  /** The problem document, where the API gave one. */
  readonly problem: Readonly<Record<string, unknown>> | undefined;

  constructor(
    exitCode: ExitCode,
    message: string,
    more: { readonly todo?: string; readonly problem?: Readonly<Record<string, unknown>> } = {},
  ) {
    super(message);
    this.name = 'CommandFailure';
    this.exitCode = exitCode;
    this.todo = more.todo;
    this.problem = more.problem;
  }
}
