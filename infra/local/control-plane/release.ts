/** A release archive, known by its content. */
export interface Archive {
  readonly url: string;
  /** Hex. */
  readonly sha512: string;
  /** The path in the archive of each binary that is taken from it. */
  readonly members: Readonly<Record<string, BinaryName>>;
}

type BinaryName = (typeof BINARY_NAMES)[number];

export const BINARY_NAMES = ['etcd', 'kube-apiserver', 'kube-controller-manager'] as const;

/** One version of the control plane, and where its publishers offer it. */
export interface Release {
  readonly kubernetes: string;
  readonly etcd: string;
  /** By `process.platform-process.arch`. */
  readonly archives: Readonly<Record<string, readonly Archive[]>>;
}

/**
 * The control plane that the local stack runs. `infra/tools/kubernetes` and `infra/tools/etcd` pin the same versions
 * for the build from source.
 *
 * The controller manager is published only inside the server archive; 1.36.0 is the patch whose digest stands in the
 * changelog (CHANGELOG-1.36.md). It works with an API server of the same minor version.
 */
export const PINNED: Release = {
  kubernetes: '1.36.2',
  etcd: '3.6.16',
  archives: {
    'linux-x64': [
      {
        url: 'https://github.com/kubernetes-sigs/controller-tools/releases/download/envtest-v1.36.2/envtest-v1.36.2-linux-amd64.tar.gz',
        sha512:
          'ea743186c8a799f5cf8faf16969f86189d003cb7d130e0ac4b58789f1e5748dcf30ebe91c837a10d5ac415383da3e10b9e64d65785c938c23e739781cfb76f08',
        members: {
          'controller-tools/envtest/etcd': 'etcd',
          'controller-tools/envtest/kube-apiserver': 'kube-apiserver',
        },
      },
      {
        url: 'https://dl.k8s.io/v1.36.0/kubernetes-server-linux-amd64.tar.gz',
        sha512:
          '1c64da92575451c2c7ff97c79b772e603995f8e76da1371a6b0746aaa27b65dce81c4d734cbb50f40e71486a8e08df36f14e12974f97d4d29e41f23a172a6a25',
        members: { 'kubernetes/server/bin/kube-controller-manager': 'kube-controller-manager' },
      },
    ],
  },
};
