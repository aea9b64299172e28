import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import type { KubernetesUser } from '../../shared/adapters/kubernetes/user.ts';
import type { Kind } from '../../shared/kube/kind.ts';
import type { KubeObject, Stored } from '../../shared/kube/object.ts';
import { untilTrue } from './supervisor/readiness.ts';

export const CustomResourceDefinition: Kind = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  kind: 'CustomResourceDefinition',
  plural: 'customresourcedefinitions',
  namespaced: false,
};

const CRDS = fileURLToPath(new URL('../../crds', import.meta.url));

/** Applies every CRD in `crds/` and waits until its objects are served. @returns their names */
export async function installCrds(user: KubernetesUser, signal: AbortSignal): Promise<readonly string[]> {
  const crds = readdirSync(CRDS)
    .filter((file) => file.endsWith('.yaml'))
    .map((file) => parse(readFileSync(join(CRDS, file), 'utf8')) as KubeObject);
  await Promise.all(crds.map((crd) => install(user, crd, signal)));
  return crds.map((crd) => crd.metadata.name);
}

async function install(user: KubernetesUser, crd: KubeObject, signal: AbortSignal): Promise<void> {
  await user.apply(CustomResourceDefinition, crd, { fieldManager: 'driftless/crds', force: true, signal });
  const key = { namespace: '', name: crd.metadata.name };
  await untilTrue(async (aborted) => isEstablished(await user.get(CustomResourceDefinition, key, aborted)), signal, 20);
}

function isEstablished(crd: Stored | undefined): boolean {
  const { conditions = [] } = (crd?.['status'] ?? {}) as { conditions?: readonly { type: string; status: string }[] };
  return conditions.some(({ type, status }) => type === 'Established' && status === 'True');
}
