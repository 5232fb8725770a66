/**
 * 1 s: the one local attempt that a step gets. Half would send slow but healthy services to the regular
 * activity; twice would hold up a cancel, which is not seen before the local attempt ends.
 */
export const LOCAL_ATTEMPT_MS = 1_000;

/**
 * 500 ms between an attempt's own limit and the one that Temporal enforces: enough for the activity to say
 * that it timed out, and why, before the server only knows that it is silent.
 */
export const REPORT_MARGIN_MS = 500;
