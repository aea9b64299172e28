import { parse, stringify } from 'yaml';
import { z } from 'zod';
import type { Identity } from './certificates.ts';

/** How to reach an API server, and as whom. */
export interface ClusterAccess {
  /** `https://127.0.0.1:6443` */
  readonly server: string;
  /** The authority of the server's certificate, as PEM. */
  readonly ca: string;
  readonly user: Identity | { readonly token: string };
}

const CONTEXT = 'driftless';

/** A kubeconfig that contains all it needs, so that it can be moved. It holds a credential: store it with mode 0600. */
export function formatKubeconfig({ server, ca, user }: ClusterAccess): string {
  return stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: CONTEXT, cluster: { server, 'certificate-authority-data': encode(ca) } }],
    users: [
      {
        name: CONTEXT,
        user:
          'token' in user
            ? { token: user.token }
            : { 'client-certificate-data': encode(user.certificate), 'client-key-data': encode(user.key) },
      },
    ],
    contexts: [{ name: CONTEXT, context: { cluster: CONTEXT, user: CONTEXT } }],
    'current-context': CONTEXT,
  });
}

/** Reads what `formatKubeconfig` wrote; other kubeconfigs are the business of a real client library. */
export function parseKubeconfig(text: string): ClusterAccess {
  const { clusters, users } = Kubeconfig.parse(parse(text));
  const [{ cluster }] = clusters;
  const [{ user }] = users;
  return {
    server: cluster.server,
    ca: cluster['certificate-authority-data'],
    user:
      'token' in user
        ? { token: user.token }
        : { certificate: user['client-certificate-data'], key: user['client-key-data'] },
  };
}

const Base64 = z.base64().transform((text) => Buffer.from(text, 'base64').toString('utf8'));

const Kubeconfig = z.object({
  clusters: z.tuple([z.object({ cluster: z.object({ server: z.string(), 'certificate-authority-data': Base64 }) })]),
  users: z.tuple([
    z.object({
      user: z.union([
        z.object({ token: z.string() }),
        z.object({ 'client-certificate-data': Base64, 'client-key-data': Base64 }),
      ]),
    }),
  ]),
});

function encode(pem: string): string {
  return Buffer.from(pem, 'utf8').toString('base64');
}
