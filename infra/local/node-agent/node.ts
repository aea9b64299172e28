import { setTimeout as sleep } from 'node:timers/promises';
import { ConflictError, messageOf } from '../../../shared/errors.ts';
import { isNotFound } from '../../../shared/kube/api-error.ts';
import { toRfc3339 } from '../../../shared/kube/time.ts';
import type { Logger } from '../../../shared/ports/logger.ts';
import type { ApiConnection } from '../control-plane/api-connection.ts';

/** The name of the only node. */
export const NODE_NAME = 'local';
/** The node's heartbeat (KEP-589). */
export const NODE_LEASE_PATH = `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${NODE_NAME}`;

const HEARTBEAT_MS = 10_000;
const RETRY_MS = 1_000;
const LEASE_SECONDS = 40;
const STRATEGIC_MERGE = 'application/strategic-merge-patch+json';

/** Registers the node and keeps it Ready, also after a long sleep of this machine. */
export async function keepNodeReady(api: ApiConnection, log: Logger): Promise<never> {
  for (;;) {
    try {
      if (!(await isReady(api))) {
        await register(api);
        log.info('node is ready', { node: NODE_NAME });
      }
      await renewLease(api);
      await sleep(HEARTBEAT_MS);
    } catch (thrown) {
      log.warn('cannot keep the node ready', { node: NODE_NAME, error: messageOf(thrown) });
      await sleep(RETRY_MS);
    }
  }
}

interface NodeStatus {
  readonly conditions?: readonly { readonly type: string; readonly status: string }[];
}

async function isReady(api: ApiConnection): Promise<boolean> {
  try {
    const { status: nodeStatus = {} } = await api.call({ method: 'GET', path: `/api/v1/nodes/${NODE_NAME}` });
    const { conditions = [] } = nodeStatus as NodeStatus;
    return conditions.some(({ type, status }) => type === 'Ready' && status === 'True');
  } catch (thrown) {
    if (isNotFound(thrown)) return false;
    throw thrown;
  }
}

async function register(api: ApiConnection): Promise<void> {
  const labels = { 'kubernetes.io/hostname': NODE_NAME, 'kubernetes.io/os': 'linux' };
  await unlessItExists(
    api.call({ method: 'POST', path: '/api/v1/nodes', body: { metadata: { name: NODE_NAME, labels } } }),
  );
  const now = toRfc3339(Date.now());
  const room = { cpu: '1000', memory: '1Ti', pods: '10000', 'ephemeral-storage': '1Ti' };
  const condition = (type: string, status: string) => {
    return { type, status, reason: 'Simulated', message: '', lastHeartbeatTime: now, lastTransitionTime: now };
  };
  const status = {
    capacity: room,
    allocatable: room,
    nodeInfo: { kubeletVersion: 'simulated' },
    addresses: [{ type: 'InternalIP', address: '127.0.0.1' }],
    conditions: [
      condition('Ready', 'True'),
      condition('MemoryPressure', 'False'),
      condition('DiskPressure', 'False'),
      condition('PIDPressure', 'False'),
    ],
  };
  const path = `/api/v1/nodes/${NODE_NAME}/status`;
  await api.call({ method: 'PATCH', path, body: { status }, contentType: STRATEGIC_MERGE });
}

async function renewLease(api: ApiConnection): Promise<void> {
  const spec = {
    holderIdentity: NODE_NAME,
    leaseDurationSeconds: LEASE_SECONDS,
    // metav1.MicroTime
    renewTime: new Date().toISOString().replace('Z', '000Z'),
  };
  try {
    await api.call({
      method: 'PATCH',
      path: NODE_LEASE_PATH,
      body: { spec },
      contentType: 'application/merge-patch+json',
    });
  } catch (thrown) {
    if (!isNotFound(thrown)) throw thrown;
    const collection = NODE_LEASE_PATH.slice(0, NODE_LEASE_PATH.lastIndexOf('/'));
    await unlessItExists(api.call({ method: 'POST', path: collection, body: { metadata: { name: NODE_NAME }, spec } }));
  }
}

async function unlessItExists(creation: Promise<unknown>): Promise<void> {
  try {
    await creation;
  } catch (thrown) {
    if (!(thrown instanceof ConflictError)) throw thrown;
  }
}
