import { Deployment, Ingress, Service } from '../../../shared/kube/builtin.ts';
import { apiVersionOf, type ObjectOf } from '../../../shared/kube/kind.ts';
import type { WebApp } from './kind.ts';

/** The Pods' port is referred to by name, so `spec.port` stands in one place only. */
const PORT_NAME = 'http';
const SERVICE_PORT = 80;

/** Runs the image. Without probes: a copy counts as ready as soon as its process runs. */
export function deployment({ metadata, spec }: WebApp): ObjectOf<typeof Deployment> {
  const labels = labelsOf(metadata.name);
  return {
    apiVersion: apiVersionOf(Deployment),
    kind: Deployment.kind,
    metadata: { name: metadata.name, labels },
    spec: {
      replicas: spec.replicas,
      selector: { matchLabels: selectorOf(metadata.name) },
      template: {
        metadata: { labels },
        spec: {
          containers: [
            { name: 'web', image: spec.image, ports: [{ name: PORT_NAME, containerPort: spec.port, protocol: 'TCP' }] },
          ],
        },
      },
    },
  };
}

/** Gives the copies one address in the cluster. */
export function service({ metadata }: WebApp): ObjectOf<typeof Service> {
  return {
    apiVersion: apiVersionOf(Service),
    kind: Service.kind,
    metadata: { name: metadata.name, labels: labelsOf(metadata.name) },
    spec: {
      selector: selectorOf(metadata.name),
      ports: [{ name: PORT_NAME, port: SERVICE_PORT, targetPort: PORT_NAME, protocol: 'TCP' }],
    },
  };
}

/** Routes the host to the Service; nothing to do without one. */
export function ingress({ metadata, spec }: WebApp): ObjectOf<typeof Ingress> | undefined {
  const { host, tlsSecretName } = spec;
  if (host === undefined) return undefined;
  const backend = { service: { name: metadata.name, port: { name: PORT_NAME } } };
  return {
    apiVersion: apiVersionOf(Ingress),
    kind: Ingress.kind,
    metadata: { name: metadata.name, labels: labelsOf(metadata.name) },
    spec: {
      rules: [{ host, http: { paths: [{ path: '/', pathType: 'Prefix', backend }] } }],
      ...(tlsSecretName === undefined ? {} : { tls: [{ hosts: [host], secretName: tlsSecretName }] }),
    },
  };
}

/** Never changes: a Deployment's selector is immutable. */
function selectorOf(name: string): Readonly<Record<string, string>> {
  return { 'app.kubernetes.io/name': 'webapp', 'app.kubernetes.io/instance': name };
}

function labelsOf(name: string): Readonly<Record<string, string>> {
  return { ...selectorOf(name), 'app.kubernetes.io/managed-by': 'driftless' };
}
