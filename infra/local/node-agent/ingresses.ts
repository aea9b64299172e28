import type { KubeObject } from '../../../shared/kube/object.ts';
import type { ApiConnection } from '../control-plane/api-connection.ts';

const ADDRESS = '127.0.0.1';

interface IngressStatus {
  readonly loadBalancer?: { readonly ingress?: readonly unknown[] };
}

/** Publishes the address of a load balancer, as an ingress controller does once traffic can flow. */
export async function giveAddress(api: ApiConnection, ingress: KubeObject): Promise<void> {
  const { name, namespace, uid, deletionTimestamp } = ingress.metadata;
  const { status = {} } = ingress;
  const { loadBalancer } = status as IngressStatus;
  if (deletionTimestamp !== undefined || (loadBalancer?.ingress ?? []).length > 0) return;
  await api.call({
    method: 'PATCH',
    path: `/apis/networking.k8s.io/v1/namespaces/${namespace}/ingresses/${name}/status`,
    body: { metadata: { uid }, status: { loadBalancer: { ingress: [{ ip: ADDRESS }] } } },
    contentType: 'application/merge-patch+json',
  });
}
