import type { Cluster } from '../ports/cluster.ts';
import type { Logger } from '../ports/logger.ts';
import type { KeepOut } from '../queue/work-queue.ts';

/** Puts holders that lost their lease on the fence of their cluster; does nothing where there is none. */
export function keepOutOf(clusters: ReadonlyMap<string, Cluster>, log: Logger): KeepOut {
  return async (cluster, holders, signal) => {
    const fence = clusters.get(cluster)?.fence;
    if (fence === undefined) return;
    await fence.add(holders, signal);
    log.info('kept out who lost the lease', { cluster, holders });
  };
}
