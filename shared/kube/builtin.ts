import type { V1ConfigMap, V1Deployment, V1Ingress, V1Secret, V1Service } from '@kubernetes/client-node';
import type { Kind } from './kind.ts';
import type { KubeObject } from './object.ts';

/**
 * A generated model as raw JSON: times are text, and the names that the generator had to escape (`_from`) are the
 * wire's again.
 */
export type Raw<T> = T extends Date
  ? string
  : T extends readonly (infer E)[]
    ? readonly Raw<E>[]
    : T extends object
      ? { readonly [K in keyof T as K extends `_${infer Name}` ? Name : K]: Raw<T[K]> }
      : T;

type Builtin<T> = KubeObject & Omit<Raw<T>, 'apiVersion' | 'kind' | 'metadata'>;

function builtin<T>(group: string, version: string, kind: string, plural: string): Kind<Builtin<T>> {
  return { group, version, kind, plural, namespaced: true };
}

export const Deployment = builtin<V1Deployment>('apps', 'v1', 'Deployment', 'deployments');
export const Service = builtin<V1Service>('', 'v1', 'Service', 'services');
export const Ingress = builtin<V1Ingress>('networking.k8s.io', 'v1', 'Ingress', 'ingresses');
export const ConfigMap = builtin<V1ConfigMap>('', 'v1', 'ConfigMap', 'configmaps');
export const Secret = builtin<V1Secret>('', 'v1', 'Secret', 'secrets');
