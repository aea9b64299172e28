import { isBroken, type Pod, type PodContainer } from './pod-step.ts';

interface PodStatusPatch {
  readonly phase: 'Pending' | 'Running' | 'Succeeded';
  readonly [field: string]: unknown;
}

/** All containers run and are ready. @param now RFC 3339 */
export function runningStatus(pod: Pod, podIP: string, now: string): PodStatusPatch {
  return {
    phase: 'Running',
    startTime: pod.status.startTime ?? now,
    hostIP: '127.0.0.1',
    podIP,
    podIPs: [{ ip: podIP }],
    conditions: conditions('True', now),
    containerStatuses: pod.spec.containers.map((container) => ({
      ...containerStatus(pod, container, true),
      state: { running: { startedAt: now } },
    })),
  };
}

/** An image cannot be pulled; the containers that could start wait for the one that cannot. */
export function waitingStatus(pod: Pod, now: string): PodStatusPatch {
  return {
    phase: 'Pending',
    startTime: pod.status.startTime ?? now,
    hostIP: '127.0.0.1',
    conditions: conditions('False', now, { reason: 'ContainersNotReady' }),
    containerStatuses: pod.spec.containers.map((container) => ({
      name: container.name,
      image: container.image,
      imageID: '',
      ready: false,
      started: false,
      restartCount: 0,
      state: {
        waiting: isBroken(container)
          ? { reason: 'ImagePullBackOff', message: `Back-off pulling image "${container.image}"` }
          : { reason: 'ContainerCreating' },
      },
    })),
  };
}

/** All containers have ended with exit code 0. */
export function succeededStatus(pod: Pod, now: string): PodStatusPatch {
  const startedAt = pod.status.startTime ?? now;
  return {
    phase: 'Succeeded',
    conditions: conditions('False', now, { reason: 'PodCompleted' }),
    containerStatuses: pod.spec.containers.map((container) => ({
      ...containerStatus(pod, container, false),
      state: { terminated: { exitCode: 0, reason: 'Completed', startedAt, finishedAt: now } },
    })),
  };
}

function containerStatus(pod: Pod, { name, image }: PodContainer, ready: boolean) {
  const containerID = `simulated://${pod.metadata.uid}/${name}`;
  return { name, image, imageID: `simulated://${image}`, containerID, ready, started: ready, restartCount: 0 };
}

function conditions(ready: 'True' | 'False', now: string, why: { readonly reason?: string } = {}) {
  return ['PodScheduled', 'Initialized', 'ContainersReady', 'Ready'].map((type) =>
    type.endsWith('Ready')
      ? { type, status: ready, lastTransitionTime: now, ...why }
      : { type, status: 'True', lastTransitionTime: now },
  );
}
