import type { AlarmSource, AlarmView, StoreState } from '../../ports/alarm-source.ts';
import type { AlarmPosition, AlarmWindow, UpcomingAlarm } from '../../queue/alarm-table.ts';
import { formatItemKey, type WorkItem } from '../../queue/work-item.ts';
import type { MemoryWorkStore } from './work-store.ts';

export interface MemoryAlarmSourceOptions {
  readonly store: MemoryWorkStore;
  readonly cluster: string;
}

/** The alarms of a store in this process. */
export class MemoryAlarmSource implements AlarmSource {
  readonly #options: MemoryAlarmSourceOptions;

  constructor(options: MemoryAlarmSourceOptions) {
    this.#options = options;
  }

  async state(signal: AbortSignal): Promise<StoreState> {
    signal.throwIfAborted();
    const { store } = this.#options;
    return { epoch: store.epoch, nowMs: store.snapshot().nowMs };
  }

  async *follow(window: AlarmWindow, signal: AbortSignal): AsyncIterable<AlarmView> {
    let known: string | undefined;
    while (!signal.aborted) {
      const view = await this.view(window, known, Number.POSITIVE_INFINITY, signal);
      if (view.version === known) return; // Aborted.
      known = view.version;
      yield view;
    }
  }

  /** What stands in the window as soon as it is not what the version `known` was; after `waitMs` whatever it is. */
  async view(window: AlarmWindow, known: string | undefined, waitMs: number, signal: AbortSignal) {
    const { store, cluster } = this.#options;
    let view = viewOf(window, cluster, store.snapshot());
    if (view.version === known) {
      const end = view.nowMs + waitMs;
      while (view.version === known && view.nowMs < end && !signal.aborted) {
        await store.change(end - view.nowMs, signal);
        view = viewOf(window, cluster, store.snapshot());
      }
    }
    return view;
  }
}

type Version = { readonly version: string };

function viewOf(
  window: AlarmWindow,
  cluster: string,
  { items, nowMs }: { readonly items: readonly WorkItem[]; readonly nowMs: number },
): AlarmView & Version {
  const { after, untilMs, limit } = window;
  const alarms = items
    .flatMap(({ key, alarm }): readonly UpcomingAlarm[] =>
      alarm === null || key.cluster !== cluster ? [] : [{ id: formatItemKey(key), key, ...alarm }],
    )
    .filter((alarm) => alarm.wakeAt <= untilMs && (after === undefined || order(after, alarm) < 0))
    .sort(order)
    .slice(0, limit);
  return { alarms, nowMs, version: JSON.stringify(alarms.map(({ id, wakeAt }) => [id, wakeAt])) };
}

function order(a: AlarmPosition, b: AlarmPosition): number {
  if (a.wakeAt !== b.wakeAt) return a.wakeAt - b.wakeAt;
  if (a.id === b.id) return 0;
  return a.id < b.id ? -1 : 1;
}
