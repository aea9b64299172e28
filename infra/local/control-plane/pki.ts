import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createAuthority, createSigningKey, type Identity } from './certificates.ts';

/** Everything that the control plane proves itself with, as files (keys with mode 0600). */
export interface PkiFiles {
  readonly ca: string;
  readonly caPem: string;
  readonly apiServer: { readonly certificate: string; readonly key: string };
  readonly serviceAccountKey: string;
  /** Member of `system:masters`: may do everything. */
  readonly admin: Identity;
  readonly controllerManager: Identity;
}

const API_SERVER_HOSTS = [
  '127.0.0.1',
  'localhost',
  'kubernetes',
  'kubernetes.default',
  'kubernetes.default.svc',
  'kubernetes.default.svc.cluster.local',
  // The first address of the service range, which `kubernetes.default` has.
  '10.0.0.1',
];

/** @param directory created, with mode 0700 */
export async function createPki(directory: string): Promise<PkiFiles> {
  await mkdir(directory, { mode: 0o700 });
  const authority = await createAuthority('driftless-local', new Date());
  const [apiServer, admin, controllerManager] = await Promise.all([
    authority.issue({ commonName: 'kube-apiserver', hosts: API_SERVER_HOSTS }),
    authority.issue({ commonName: 'driftless-admin', organizations: ['system:masters'] }),
    authority.issue({ commonName: 'system:kube-controller-manager' }),
  ]);

  const write = async (name: string, content: string): Promise<string> => {
    const path = join(directory, name);
    await writeFile(path, content, { mode: 0o600 });
    return path;
  };
  return {
    ca: await write('ca.crt', authority.certificate),
    caPem: authority.certificate,
    apiServer: {
      certificate: await write('apiserver.crt', apiServer.certificate),
      key: await write('apiserver.key', apiServer.key),
    },
    serviceAccountKey: await write('service-account.key', createSigningKey()),
    admin,
    controllerManager,
  };
}
