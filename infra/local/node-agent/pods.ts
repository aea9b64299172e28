import type { KubeObject } from '../../../shared/kube/object.ts';
import { toRfc3339 } from '../../../shared/kube/time.ts';
import type { Logger } from '../../../shared/ports/logger.ts';
import type { ApiConnection } from '../control-plane/api-connection.ts';
import type { FollowOptions } from './follow.ts';
import { NODE_NAME } from './node.ts';
import { runningStatus, succeededStatus, waitingStatus } from './pod-status.ts';
import { nextStep, type Pod } from './pod-step.ts';

/** Performs the next step of each pod; the change that it makes brings the pod back for the step after. */
export function newPodRunner(
  api: ApiConnection,
  log: Logger,
): Required<Pick<FollowOptions, 'handle' | 'onSeen' | 'onGone'>> {
  const addresses = newAddressPool();

  return {
    onSeen: (pod) => addresses.note(pod as Pod),
    onGone: (pod) => addresses.release(pod as Pod),
    handle: async (object) => {
      const pod = object as Pod;
      const { name, namespace, uid } = pod.metadata;
      const path = `/api/v1/namespaces/${namespace}/pods/${name}`;
      const now = toRfc3339(Date.now());
      const step = nextStep(pod, NODE_NAME);
      switch (step) {
        case 'nothing':
          return;
        case 'bind':
          await api.call({ method: 'POST', path: `${path}/binding`, body: bindingOf(pod) });
          break;
        case 'run':
          await patchStatus(api, path, pod, runningStatus(pod, addresses.take(pod), now));
          break;
        case 'waitForImage':
          await patchStatus(api, path, pod, waitingStatus(pod, now));
          break;
        case 'succeed':
          await patchStatus(api, path, pod, succeededStatus(pod, now));
          break;
        case 'remove':
          await api.call({ method: 'DELETE', path, body: { gracePeriodSeconds: 0, preconditions: { uid } } });
          break;
      }
      log.info('pod moved on', { pod: `${namespace}/${name}`, step });
    },
  };
}

/** The uid keeps the binding from a pod of the same name that came later. */
function bindingOf({ metadata: { name, uid } }: Pod): object {
  return { metadata: { name, uid }, target: { apiVersion: 'v1', kind: 'Node', name: NODE_NAME } };
}

async function patchStatus(api: ApiConnection, path: string, { metadata }: Pod, status: object): Promise<void> {
  const body = { metadata: { uid: metadata.uid }, status };
  await api.call({
    method: 'PATCH',
    path: `${path}/status`,
    body,
    contentType: 'application/strategic-merge-patch+json',
  });
}

interface AddressPool {
  /** Remembers the address that a pod has, from an earlier run of the agent. */
  note(pod: Pod): void;
  take(pod: Pod): string;
  release(pod: KubeObject): void;
}

const HOSTS = 65_534;

/** The addresses 10.244.0.1 to 10.244.255.254, one for each pod that exists. */
function newAddressPool(): AddressPool {
  const byUid = new Map<string, string>();
  const used = new Set<string>();
  let last = 0;

  const assign = (uid: string, address: string): string => {
    byUid.set(uid, address);
    used.add(address);
    return address;
  };
  return {
    note({ metadata, status }) {
      if (status.podIP !== undefined) assign(metadata.uid, status.podIP);
    },
    take({ metadata }) {
      const has = byUid.get(metadata.uid);
      if (has !== undefined) return has;
      for (let tried = 0; tried < HOSTS; tried++) {
        last = (last % HOSTS) + 1;
        const address = `10.244.${last >> 8}.${last & 255}`;
        if (!used.has(address)) return assign(metadata.uid, address);
      }
      throw new RangeError('every pod address is in use');
    },
    release({ metadata }) {
      const address = byUid.get(metadata.uid ?? '');
      if (address === undefined) return;
      byUid.delete(metadata.uid ?? '');
      used.delete(address);
    },
  };
}
