import { fileURLToPath } from 'node:url';
import type { PolicyRule } from '../../../shared/reconcile/permissions.ts';
import { type Issuer, issueKubeconfig } from '../control-plane/issue-kubeconfig.ts';
import type { Part } from '../part.ts';
import { untilTrue } from '../supervisor/readiness.ts';
import { NODE_LEASE_PATH } from './node.ts';

const RULES: readonly PolicyRule[] = [
  { apiGroups: [''], resources: ['nodes'], verbs: ['get', 'create'] },
  { apiGroups: [''], resources: ['nodes/status', 'pods/status'], verbs: ['patch'] },
  { apiGroups: [''], resources: ['pods'], verbs: ['watch', 'delete'] },
  { apiGroups: [''], resources: ['pods/binding'], verbs: ['create'] },
  { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['create', 'patch'] },
  { apiGroups: ['networking.k8s.io'], resources: ['ingresses'], verbs: ['watch'] },
  { apiGroups: ['networking.k8s.io'], resources: ['ingresses/status'], verbs: ['patch'] },
];

/** The node agent as a part, with a service account of its own. Ready once this run of it has renewed the node's lease. */
export async function nodeAgentPart(issuer: Issuer): Promise<Part> {
  const name = 'node-agent';
  const kubeconfig = await issueKubeconfig(issuer, {
    name,
    namespace: 'kube-system',
    serviceAccount: name,
    rules: RULES,
  });
  return {
    name,
    command: process.execPath,
    args: [fileURLToPath(new URL('main.ts', import.meta.url))],
    env: { KUBECONFIG: kubeconfig },
    ready: (signal) => {
      const startedAt = Date.now();
      return untilTrue(async (aborted) => {
        const { spec } = await issuer.api.call({ method: 'GET', path: NODE_LEASE_PATH, signal: aborted });
        const { renewTime } = spec as { readonly renewTime: string };
        return Date.parse(renewTime) >= startedAt;
      }, signal);
    },
    usuallyMs: 500,
    whenItEnds: 'restart',
  };
}
