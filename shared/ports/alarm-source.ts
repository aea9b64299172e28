import type { AlarmWindow, UpcomingAlarm } from '../queue/alarm-table.ts';

/** What stands in a window at one moment. */
export interface AlarmView {
  /** All of the window, earliest first. */
  readonly alarms: readonly UpcomingAlarm[];
  /** The store's time of this moment. Epoch milliseconds. */
  readonly nowMs: number;
}

/** The store itself, at one moment. */
export interface StoreState {
  /** The store's time: what the bounds of a window are made of. Epoch milliseconds. */
  readonly nowMs: number;
  /**
   * Names the content of the store: it stays the same whatever is written, for as long as what was written is kept.
   * Another one means that the store was emptied, and alarms were lost with it. Opaque.
   */
  readonly epoch: string;
}

/**
 * The alarms of one cluster's work items, as they are set, changed and answered.
 *
 * Errors: `TransientError` when the store did not answer, or the stream broke.
 */
export interface AlarmSource {
  /** Who finds a store without an epoch begins one. */
  state(signal: AbortSignal): Promise<StoreState>;

  /**
   * Shows a window as it is, and again after each change of what stands in it. Changes that come faster than they are
   * taken in are shown as one. Whatever happens to other alarms is not heard here.
   *
   * Ends without error when `signal` aborts, and only then.
   */
  follow(window: AlarmWindow, signal: AbortSignal): AsyncIterable<AlarmView>;
}
