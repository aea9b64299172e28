import type { KubeObject, StoredMeta } from '../../../shared/kube/object.ts';

/** The part of a Pod that the agent reads. */
export interface Pod extends KubeObject {
  readonly metadata: StoredMeta;
  readonly spec: {
    readonly nodeName?: string;
    readonly restartPolicy?: string;
    readonly containers: readonly PodContainer[];
  };
  readonly status: {
    readonly phase?: string;
    readonly podIP?: string;
    readonly startTime?: string;
    readonly containerStatuses?: readonly { readonly state?: { readonly waiting?: object } }[];
  };
}

export interface PodContainer {
  readonly name: string;
  readonly image: string;
}

/** What a scheduler or a kubelet would do next with a pod. */
export type PodStep = 'bind' | 'run' | 'waitForImage' | 'succeed' | 'remove' | 'nothing';

/** Pure, and idempotent: the state after a step never asks for the same step again. */
export function nextStep(pod: Pod, nodeName: string): PodStep {
  const { metadata, spec, status } = pod;
  // The API server itself removes a pod that was never bound.
  if (metadata.deletionTimestamp !== undefined) return spec.nodeName === nodeName ? 'remove' : 'nothing';
  if (spec.nodeName === undefined) return 'bind';
  if (spec.nodeName !== nodeName) return 'nothing';
  if (status.phase === 'Succeeded' || status.phase === 'Failed') return 'nothing';
  // What is meant to end (a Job's pod) has ended by now, and well.
  if (status.phase === 'Running') return spec.restartPolicy === 'Always' ? 'nothing' : 'succeed';
  if (!spec.containers.some(isBroken)) return 'run';
  return status.containerStatuses?.some((container) => container.state?.waiting) ? 'nothing' : 'waitForImage';
}

/** An image that cannot be pulled, for showing rollouts that fail: `registry.example/broken:…`, or the tag `broken`. */
export function isBroken({ image }: PodContainer): boolean {
  return image.startsWith('registry.example/broken:') || image.endsWith(':broken');
}
