import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runTool } from './run-tool.ts';
import { type Way, withProgress } from './way.ts';

interface Build {
  readonly what: string;
  readonly usually: string;
  /** The folder of the module that pins the version. */
  readonly module: string;
  readonly args: readonly string[];
}

const TOOLS = fileURLToPath(new URL('../../tools/', import.meta.url));
const COMMAND_NOT_FOUND = 127;

/** Builds the binaries from the Go modules that `infra/tools` pins; their content is checked against its `go.sum`. */
export const build: Way = async (options) => {
  const { environment, release, directory, workspace, signal } = options;
  const [major, minor] = release.kubernetes.split('.');
  const version = 'k8s.io/component-base/version';
  const builds: readonly Build[] = [
    {
      what: `etcd v${release.etcd}`,
      usually: '30 s',
      module: 'etcd',
      args: ['-ldflags', '-s -w', '-o', join(directory, 'etcd'), 'go.etcd.io/etcd/server/v3'],
    },
    {
      what: `kube-apiserver and kube-controller-manager v${release.kubernetes}`,
      usually: '5 min',
      module: 'kubernetes',
      args: [
        '-ldflags',
        // Without a version the server answers with one that kubectl cannot parse.
        `-s -w -X ${version}.gitVersion=v${release.kubernetes} -X ${version}.gitMajor=${major} -X ${version}.gitMinor=${minor}`,
        '-o',
        `${directory}/`,
        'k8s.io/kubernetes/cmd/kube-apiserver',
        'k8s.io/kubernetes/cmd/kube-controller-manager',
      ],
    },
  ];

  for (const { what, usually, module, args } of builds) {
    const tool = {
      command: 'go',
      args: ['build', '-trimpath', '-buildvcs=false', ...args],
      // Go has dozens of settings of its own (proxy, caches, toolchain): it gets the user's environment.
      env: { ...defined(environment), CGO_ENABLED: '0' },
      cwd: join(TOOLS, module),
    };
    const { exitCode, lastWords } = await withProgress(
      options,
      () => `building ${what} from Go modules (usually ${usually} on 2 cores)`,
      runTool(workspace, tool, signal),
    );
    if (exitCode === COMMAND_NOT_FOUND) return 'go is not on PATH';
    if (exitCode !== 0) return `go build of ${what} failed (it needs Go 1.26 or newer): ${lastWords}`;
  }
  return undefined;
};

function defined(environment: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(environment).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}
