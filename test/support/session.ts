import { ConflictError } from '../../shared/errors.ts';
import type { Kind } from '../../shared/kube/kind.ts';
import type { KubeObject, Stored } from '../../shared/kube/object.ts';
import type { ApplyOptions, Cluster, ClusterSession, Holder } from '../../shared/ports/cluster.ts';

/** A session whose lease never ends, for tests that are about something else. */
export function sessionOf(cluster: Cluster, holder: Partial<Holder> = {}): ClusterSession {
  return cluster.actingFor({
    controller: 'test',
    holderIdentity: 'rev.instance.claim',
    assertLeased: () => undefined,
    ...holder,
  });
}

/** Creates the object, or applies it to what is there; again while somebody else changes it just then. */
export async function put<T extends KubeObject>(
  session: ClusterSession,
  kind: Kind<T>,
  object: T,
  options: ApplyOptions,
): Promise<Stored<T>> {
  const { namespace = '', name } = object.metadata;
  for (;;) {
    const live = await session.get(kind, { namespace, name }, options.signal);
    try {
      if (live === undefined) return await session.create(kind, object, options);
      return await session.apply(kind, live, object, options);
    } catch (error) {
      if (!(error instanceof ConflictError)) throw error;
    }
  }
}
