import type { Deployment } from '../kube/builtin.ts';
import type { ObjectOf } from '../kube/kind.ts';
import { MISSING, type Readiness } from './readiness.ts';

/**
 * Whether a Deployment runs what its spec says, and nothing else.
 *
 * The rules of `kubectl rollout status`: the latest generation is observed, every replica is updated and available,
 * and no older one is left. Scaled to nothing is ready.
 */
export function deploymentReadiness(deployment: ObjectOf<typeof Deployment> | undefined): Readiness {
  if (deployment === undefined) return MISSING;
  const { metadata, spec, status } = deployment;
  if (status?.observedGeneration === undefined) {
    return { state: 'unobserved', message: 'its controller has not reported yet' };
  }
  // Everything below this line would describe an older spec.
  if (metadata.generation === undefined || status.observedGeneration < metadata.generation) {
    return { state: 'progressing', message: 'its controller has not seen the latest change yet' };
  }

  const deadline = status.conditions?.find(
    ({ type, status: is, reason }) => type === 'Progressing' && is === 'False' && reason === 'ProgressDeadlineExceeded',
  );
  const wanted = spec?.replicas ?? 1;
  const { replicas = 0, updatedReplicas = 0, availableReplicas = 0 } = status;
  const done = Math.min(updatedReplicas, availableReplicas, wanted);
  const progress = `${done} of ${wanted} replicas are updated and available`;

  if (deadline !== undefined) return { state: 'failed', message: `${progress}, and the rollout's deadline has passed` };
  if (done < wanted) return { state: 'progressing', message: progress };
  if (replicas > wanted) {
    return { state: 'progressing', message: `${progress}, and ${replicas - wanted} more must stop` };
  }
  return { state: 'ready', message: `${availableReplicas} of ${wanted} replicas are available` };
}
