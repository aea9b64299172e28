import { OperatorError } from '../../../shared/errors.ts';

/** Why one way did not lead to the binaries. */
export interface Miss {
  /** `KUBEBUILDER_ASSETS`, `cache`, `download`, `build`. */
  readonly way: string;
  readonly reason: string;
}

const WHAT_TO_DO =
  'Any one of these is enough: KUBEBUILDER_ASSETS with the path of a directory that holds all three; ' +
  'access to github.com and dl.k8s.io, or to a mirror of them named by DRIFTLESS_DOWNLOAD_MIRROR (Linux on x86-64); ' +
  'Go 1.26 or newer (https://go.dev/dl) and access to a Go module proxy.';

/** There is no etcd, kube-apiserver and kube-controller-manager, and no way to get them. */
export class ControlPlaneUnavailableError extends OperatorError {
  readonly misses: readonly Miss[];

  constructor(misses: readonly Miss[]) {
    const list = misses.map(({ way, reason }) => `  - ${way}: ${reason}`).join('\n');
    super(
      'CONTROL_PLANE_UNAVAILABLE',
      `cannot get etcd, kube-apiserver and kube-controller-manager:\n${list}\n${WHAT_TO_DO}`,
      { kind: 'never' },
    );
    this.misses = misses;
  }
}
