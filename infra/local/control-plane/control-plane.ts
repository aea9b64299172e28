import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { nodeAgentPart } from '../node-agent/part.ts';
import { freePorts } from '../ports.ts';
import type { Supervisor } from '../supervisor/supervisor.ts';
import { connect } from './api-connection.ts';
import type { Identity } from './certificates.ts';
import type { Binaries } from './find-binaries.ts';
import { type Grant, issueKubeconfig } from './issue-kubeconfig.ts';
import { formatKubeconfig } from './kubeconfig.ts';
import { apiServerPart, controllerManagerPart, etcdPart } from './parts.ts';
import { createPki } from './pki.ts';

/** A real Kubernetes control plane with one pretended node. Lives as long as its supervisor. */
export interface ControlPlane {
  /** `https://127.0.0.1:PORT` */
  readonly server: string;
  /** The authority of the server's certificate, as PEM. */
  readonly ca: string;
  /** Path of the administrator's kubeconfig, mode 0600. */
  readonly kubeconfig: string;
  /**
   * One JSON line per request: what was asked of the API server, seen from outside. Metadata only, but for what
   * Driftless' own accounts write: of that also the bodies, which tell the order in which writes took effect.
   */
  readonly auditLog: string;
  /** A kubeconfig for a service account that may do what `grant` says. @returns its path */
  issueKubeconfig(grant: Grant): Promise<string>;
}

export interface ControlPlaneOptions {
  readonly supervisor: Supervisor;
  readonly binaries: Binaries;
  /** Loopback port of the API server. @default a free one */
  readonly apiPort?: number;
  /**
   * Called with the administrator's kubeconfig before the controllers start. CRDs belong here: a garbage collector
   * that is already running learns of new kinds only every 30 s.
   */
  readonly beforeControllers?: (kubeconfig: string) => Promise<void>;
}

const AUDIT_POLICY = {
  apiVersion: 'audit.k8s.io/v1',
  kind: 'Policy',
  omitStages: ['RequestReceived'],
  rules: [
    { level: 'Metadata', resources: [{ group: '', resources: ['secrets'] }] },
    {
      level: 'RequestResponse',
      userGroups: ['system:serviceaccounts:driftless-system'],
      verbs: ['create', 'update', 'patch', 'delete'],
      omitManagedFields: true,
    },
    { level: 'Metadata' },
  ],
};

/**
 * Starts etcd, the API server, the controllers and the node agent; resolves when a pod could be created.
 *
 * @throws {PartFailedError} if one of them does not start.
 */
export async function startControlPlane({
  supervisor,
  binaries,
  ...options
}: ControlPlaneOptions): Promise<ControlPlane> {
  const directory = join(supervisor.directory, 'control-plane');
  await mkdir(directory, { mode: 0o700 });
  const auditPolicy = join(directory, 'audit-policy.json');
  const auditLog = join(directory, 'audit.log');
  const [pki, [port = 0]] = await Promise.all([
    createPki(join(directory, 'pki')),
    options.apiPort === undefined ? freePorts(1) : [options.apiPort],
    writeFile(auditPolicy, JSON.stringify(AUDIT_POLICY)),
    supervisor.start(etcdPart(binaries.etcd, directory)),
  ]);

  const server = `https://127.0.0.1:${port}`;
  const ca = pki.caPem;
  const kubeconfigFor = async (name: string, user: Identity): Promise<string> => {
    const path = join(directory, `${name}.kubeconfig`);
    await writeFile(path, formatKubeconfig({ server, ca, user }), { mode: 0o600 });
    return path;
  };
  await supervisor.start(
    apiServerPart({ binary: binaries.kubeApiserver, directory, pki, port, auditLog, auditPolicy }),
  );

  const kubeconfig = await kubeconfigFor('admin', pki.admin);
  await options.beforeControllers?.(kubeconfig);

  const api = connect({ server, ca, user: pki.admin });
  const issuer = { api, server, ca, directory };
  await Promise.all([
    supervisor.start(
      controllerManagerPart({
        binary: binaries.kubeControllerManager,
        pki,
        kubeconfig: await kubeconfigFor('controller-manager', pki.controllerManager),
        api,
      }),
    ),
    nodeAgentPart(issuer).then((part) => supervisor.start(part)),
  ]);

  return {
    server,
    ca,
    kubeconfig,
    auditLog,
    issueKubeconfig: (grant) => issueKubeconfig(issuer, grant),
  };
}
