import { readConfig } from '../../../../infra/cli/config.ts';
import { createGuard } from '../../../../shared/adapters/cockatiel/guard.ts';
import { SystemRandom } from '../../../../shared/adapters/system/random.ts';
import type { WorkItem } from '../../../../shared/queue/work-item.ts';
import { openWorkStore } from '../../../../shared/roots/backends.ts';

/** The work items, as the store has them. */
export interface Items {
  all(): Promise<readonly WorkItem[]>;
  close(): Promise<void>;
}

/** More than there are objects. */
const LIMIT = 1_000;

/** @param env the settings by which a process joins in; they become those of this process, where the library looks */
export function openItems(env: Readonly<Record<string, string>>): Items {
  Object.assign(process.env, env);
  const config = readConfig(env);
  const guard = createGuard({ name: 'Firestore', timeoutMs: 10_000, retry: { maxAttempts: 3, maxDelayMs: 250 } });
  const store = openWorkStore(config, { clusters: [config.DRIFTLESS_CLUSTER], random: new SystemRandom(), guard });
  return {
    all: () => store.list(config.DRIFTLESS_CLUSTER, { limit: LIMIT }, new AbortController().signal),
    close: () => store.close(),
  };
}
