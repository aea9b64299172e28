import { join } from 'node:path';
import { Agent } from 'undici';
import type { Part } from '../part.ts';
import { answers, untilTrue } from '../supervisor/readiness.ts';
import type { ApiConnection } from './api-connection.ts';
import type { PkiFiles } from './pki.ts';

/** `kubernetes.default` gets its first address. */
const SERVICE_CIDR = '10.0.0.0/16';
const ISSUER = 'https://kubernetes.default.svc';

/**
 * etcd without the promise to survive a power cut: it is thrown away with the stack.
 *
 * It listens on sockets in a directory that only this user can enter, since without client certificates whoever
 * reaches it may read every Secret.
 */
export function etcdPart(binary: string, directory: string): Part {
  const socket = etcdSocket(directory);
  const dispatcher = new Agent({ connect: { socketPath: socket } });
  return {
    name: 'etcd',
    command: binary,
    args: [
      '--name=local',
      `--data-dir=${join(directory, 'etcd')}`,
      `--listen-client-urls=unix://${socket}`,
      `--listen-peer-urls=unix://${join(directory, 'etcd-peer.sock')}`,
      // Must look like host and port. Nobody connects there: there is one member, and the API server knows the socket.
      '--advertise-client-urls=http://localhost:2379',
      '--initial-advertise-peer-urls=http://localhost:2380',
      '--initial-cluster=local=http://localhost:2380',
      '--unsafe-no-fsync',
      // A single member elects itself; with the defaults it waits up to a second for others to come forward.
      '--heartbeat-interval=20',
      '--election-timeout=100',
      '--snapshot-count=5000',
      '--log-level=warn',
    ],
    ready: answers('http://etcd/health', dispatcher),
    usuallyMs: 200,
    whenItEnds: 'fail',
  };
}

export interface ApiServerOptions {
  readonly binary: string;
  readonly directory: string;
  readonly pki: PkiFiles;
  readonly port: number;
  readonly auditLog: string;
  readonly auditPolicy: string;
}

export function apiServerPart({ binary, directory, pki, port, auditLog, auditPolicy }: ApiServerOptions): Part {
  return {
    name: 'kube-apiserver',
    command: binary,
    args: [
      `--etcd-servers=unix://${etcdSocket(directory)}`,
      '--bind-address=127.0.0.1',
      '--advertise-address=127.0.0.1',
      `--secure-port=${port}`,
      `--tls-cert-file=${pki.apiServer.certificate}`,
      `--tls-private-key-file=${pki.apiServer.key}`,
      `--client-ca-file=${pki.ca}`,
      '--authorization-mode=RBAC',
      `--service-cluster-ip-range=${SERVICE_CIDR}`,
      `--service-account-issuer=${ISSUER}`,
      `--service-account-key-file=${pki.serviceAccountKey}`,
      `--service-account-signing-key-file=${pki.serviceAccountKey}`,
      // A loopback address is not allowed in Endpoints, so it could only complain about its own.
      '--endpoint-reconciler-type=none',
      `--audit-policy-file=${auditPolicy}`,
      `--audit-log-path=${auditLog}`,
      '--audit-log-maxbackup=2',
      // Otherwise open watches keep the process for a minute after SIGTERM.
      '--shutdown-watch-termination-grace-period=1s',
      '--profiling=false',
    ],
    ready: answers(`https://127.0.0.1:${port}/readyz`, new Agent({ connect: { ca: pki.caPem } })),
    usuallyMs: 2_500,
    whenItEnds: 'fail',
  };
}

export interface ControllerManagerOptions {
  readonly binary: string;
  readonly pki: PkiFiles;
  readonly kubeconfig: string;
  readonly api: ApiConnection;
}

export function controllerManagerPart({ binary, pki, kubeconfig, api }: ControllerManagerOptions): Part {
  return {
    name: 'kube-controller-manager',
    command: binary,
    args: [
      `--kubeconfig=${kubeconfig}`,
      // Each controller under its own name and rights, as in a real cluster, so the audit log tells them apart.
      '--use-service-account-credentials',
      `--service-account-private-key-file=${pki.serviceAccountKey}`,
      `--root-ca-file=${pki.ca}`,
      '--leader-elect=false',
      '--bind-address=127.0.0.1',
      '--secure-port=0',
      '--kube-api-qps=500',
      '--kube-api-burst=1000',
      '--profiling=false',
    ],
    ready: (signal) => untilTrue((aborted) => canCreatePods(api, aborted), signal),
    usuallyMs: 1_500,
    whenItEnds: 'restart',
  };
}

/**
 * Pods are refused until the controllers have given their namespace an account. Both are remembered by the API
 * server, so this says little about a controller manager that was restarted.
 */
async function canCreatePods(api: ApiConnection, signal: AbortSignal): Promise<boolean> {
  await api.call({ method: 'GET', path: '/api/v1/namespaces/default/serviceaccounts/default', signal });
  await api.call({ method: 'GET', path: '/api/v1/namespaces/default/configmaps/kube-root-ca.crt', signal });
  return true;
}

function etcdSocket(directory: string): string {
  return join(directory, 'etcd.sock');
}
