import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Archive, PINNED, type Release } from '../../infra/local/control-plane/release.ts';

const PLATFORM = `${process.platform}-${process.arch}`;
const NAMES = ['etcd', 'kube-apiserver', 'kube-controller-manager'];

/** A machine of its own: a directory with a cache, perhaps a Go, perhaps downloads. */
export interface Machine extends AsyncDisposable {
  readonly directory: string;
  readonly environment: Readonly<Record<string, string>>;
  /** Where this machine keeps the pinned release. */
  readonly cache: string;
}

/** Without anything: no network (nobody listens on the mirror's port), and no Go. */
export function newMachine(extra: Readonly<Record<string, string>> = {}): Machine {
  const directory = mkdtempSync(join(tmpdir(), 'driftless-test-'));
  mkdirSync(join(directory, 'bin'));
  return {
    directory,
    environment: {
      PATH: join(directory, 'bin'),
      HOME: directory,
      DRIFTLESS_DOWNLOAD_MIRROR: 'http://127.0.0.1:9',
      ...extra,
    },
    cache: join(
      directory,
      `.cache/driftless/control-plane/kubernetes-${PINNED.kubernetes}_etcd-${PINNED.etcd}_${PLATFORM}`,
    ),
    async [Symbol.asyncDispose]() {
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** Puts pretended binaries into a directory. */
export function writeBinaries(directory: string, content: string, names: readonly string[] = NAMES): void {
  mkdirSync(directory, { recursive: true });
  for (const name of names) writeFileSync(join(directory, name), content, { mode: 0o755 });
}

/**
 * Installs a `go` that notes each run in `go-runs` and makes pretended binaries, after `seconds`.
 *
 * @returns the machine with a PATH on which it is found
 */
export function withGo(machine: Machine, seconds: number): Machine {
  const script = `#!/bin/sh
echo $$ >>"${machine.directory}/go-runs"
sleep ${seconds}
while [ "$1" != -o ]; do shift; done
case $2 in
  */) set -- "$2kube-apiserver" "$2kube-controller-manager" ;;
  *) set -- "$2" ;;
esac
for file; do echo built >"$file"; chmod +x "$file"; done
`;
  writeFileSync(join(machine.directory, 'bin/go'), script, { mode: 0o755 });
  const PATH = `${join(machine.directory, 'bin')}:/usr/bin:/bin`;
  return { ...machine, environment: { ...machine.environment, PATH } };
}

/** The pids of the runs of `withGo`'s compiler so far. */
export function goRuns(machine: Machine): readonly number[] {
  try {
    return readFileSync(join(machine.directory, 'go-runs'), 'utf8').trim().split('\n').map(Number);
  } catch {
    return [];
  }
}

export interface Mirror extends AsyncDisposable {
  readonly url: string;
  readonly release: Release;
  /** How many archives were asked for. */
  requests(): number;
}

/** Serves pretended archives laid out as the real ones. @param digest replaces the right digests */
export async function newMirror(digest?: string): Promise<Mirror> {
  const directory = mkdtempSync(join(tmpdir(), 'driftless-test-'));
  const archives = PINNED.archives['linux-x64'] ?? [];
  const served = new Map<string, Buffer>();
  const release = archives.map((archive): Archive => {
    const content = archiveOf(directory, archive);
    served.set(new URL(archive.url).pathname, content);
    return { ...archive, sha512: digest ?? createHash('sha512').update(content).digest('hex') };
  });

  let requests = 0;
  const server = createServer((incoming, response) => {
    requests++;
    const content = served.get(incoming.url ?? '');
    response.writeHead(content === undefined ? 404 : 200).end(content);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    release: { ...PINNED, archives: { [PLATFORM]: release } },
    requests: () => requests,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

function archiveOf(directory: string, { members }: Archive): Buffer {
  const root = mkdtempSync(join(directory, 'archive-'));
  for (const member of Object.keys(members)) {
    mkdirSync(join(root, member, '..'), { recursive: true });
    writeFileSync(join(root, member), 'downloaded');
  }
  const file = `${root}.tar.gz`;
  execFileSync('tar', ['-czf', file, '-C', root, ...topFolders(members)]);
  return readFileSync(file);
}

/** So that the members are stored as `folder/…`, as the publishers do, and not as `./folder/…`. */
function topFolders(members: Archive['members']): readonly string[] {
  return [...new Set(Object.keys(members).map((member) => member.split('/')[0] ?? ''))];
}
