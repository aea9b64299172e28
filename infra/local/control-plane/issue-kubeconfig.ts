import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { KubeObject } from '../../../shared/kube/object.ts';
import type { PolicyRule } from '../../../shared/reconcile/permissions.ts';
import type { ApiConnection } from './api-connection.ts';
import { formatKubeconfig } from './kubeconfig.ts';

/** Who gets a kubeconfig, and what it may do with it. */
export interface Grant {
  /** Names the file, the ClusterRole and its binding. */
  readonly name: string;
  /** Created if it is not there. */
  readonly namespace: string;
  readonly serviceAccount: string;
  readonly rules: readonly PolicyRule[];
}

export interface Issuer {
  readonly api: ApiConnection;
  readonly server: string;
  readonly ca: string;
  /** Where kubeconfigs are written. */
  readonly directory: string;
}

const TOKEN_SECONDS = 86_400;
const RBAC = 'rbac.authorization.k8s.io';

/**
 * Creates a service account that may do exactly what `rules` say, in all namespaces, and a kubeconfig for it.
 * Repeatable; the token is new each time and valid for a day.
 *
 * @returns the path of the kubeconfig, mode 0600
 */
export async function issueKubeconfig(issuer: Issuer, grant: Grant): Promise<string> {
  const { name, namespace, serviceAccount, rules } = grant;
  const { api, server, ca } = issuer;
  const accounts = `/api/v1/namespaces/${namespace}/serviceaccounts`;

  await apply(api, '/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
  await apply(api, accounts, {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: { namespace, name: serviceAccount },
  });
  await apply(api, `/apis/${RBAC}/v1/clusterroles`, {
    apiVersion: `${RBAC}/v1`,
    kind: 'ClusterRole',
    metadata: { name },
    rules,
  });
  await apply(api, `/apis/${RBAC}/v1/clusterrolebindings`, {
    apiVersion: `${RBAC}/v1`,
    kind: 'ClusterRoleBinding',
    metadata: { name },
    roleRef: { apiGroup: RBAC, kind: 'ClusterRole', name },
    subjects: [{ kind: 'ServiceAccount', namespace, name: serviceAccount }],
  });

  const token = await requestToken(api, `${accounts}/${serviceAccount}/token`);
  const path = join(issuer.directory, `${name}.kubeconfig`);
  await writeFile(path, formatKubeconfig({ server, ca, user: { token } }), { mode: 0o600 });
  return path;
}

async function apply(api: ApiConnection, collection: string, object: KubeObject): Promise<void> {
  const path = `${collection}/${object.metadata.name}?fieldManager=driftless-local&force=true`;
  await api.call({ method: 'PATCH', path, body: object, contentType: 'application/apply-patch+yaml' });
}

async function requestToken(api: ApiConnection, path: string): Promise<string> {
  const body = {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    spec: { expirationSeconds: TOKEN_SECONDS },
  };
  const { status } = await api.call({ method: 'POST', path, body });
  return (status as { readonly token: string }).token;
}
