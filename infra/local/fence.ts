import type { Kubernetes } from '../../shared/adapters/kubernetes/connect.ts';
import type { Controller } from '../../shared/reconcile/controller.ts';
import { fenceObjects } from '../../shared/reconcile/fence-objects.ts';
import { untilTrue } from './supervisor/readiness.ts';

/**
 * Installs what strict mode needs, as an administrator, and waits until the API server enforces it. It cannot tell a policy
 * from the one that it replaces: that a changed one is in force, it does not wait for.
 */
export async function installFence(
  { user, fence }: Pick<Kubernetes, 'user' | 'fence'>,
  controllers: readonly Controller[],
  signal: AbortSignal,
): Promise<void> {
  for (const { kind, object } of fenceObjects(controllers)) {
    await user.apply(kind, object, { fieldManager: 'driftless/fence', force: true, signal });
  }
  await untilTrue((aborted) => fence.isEnforced(aborted), signal, 20);
}
