import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { resolveBinaries } from '../../infra/local/control-plane/binaries.ts';
import { ControlPlaneUnavailableError } from '../../infra/local/control-plane/control-plane-unavailable-error.ts';
import type { Release } from '../../infra/local/control-plane/release.ts';
import { goRuns, type Machine, newMachine, newMirror, withGo, writeBinaries } from './binaries-fixture.ts';
import { eventually, isRunning } from './supervisor-processes.ts';

const noSuchProcess = '4194304-1';

describe('the control plane is looked for', () => {
  it('in KUBEBUILDER_ASSETS first', async () => {
    await using machine = newMachine();
    const assets = join(machine.directory, 'assets');
    writeBinaries(assets, 'mine');
    writeBinaries(machine.cache, 'cached');
    const { etcd } = await resolve(machine, { environment: { KUBEBUILDER_ASSETS: assets } });
    assert.equal(etcd, join(assets, 'etcd'));
  });

  it('in the cache next, and says which binary KUBEBUILDER_ASSETS lacks', async () => {
    await using machine = newMachine();
    const assets = join(machine.directory, 'assets');
    writeBinaries(assets, 'mine', ['etcd', 'kube-apiserver']);
    writeBinaries(machine.cache, 'cached');
    const said: string[] = [];
    const { etcd } = await resolve(machine, { environment: { KUBEBUILDER_ASSETS: assets }, said });
    assert.equal(etcd, join(machine.cache, 'etcd'));
    assert.deepEqual(said, [`KUBEBUILDER_ASSETS: ${assets} lacks kube-controller-manager`]);
  });

  it('in the cache that DRIFTLESS_CACHE_DIR or XDG_CACHE_HOME names', async () => {
    await using machine = newMachine();
    const release = machine.cache.split('/').at(-1) ?? '';
    const xdg = join(machine.directory, 'xdg');
    const own = join(machine.directory, 'own');
    writeBinaries(join(xdg, 'driftless/control-plane', release), 'cached');
    writeBinaries(join(own, 'control-plane', release), 'cached');
    const fromXdg = await resolve(machine, { environment: { XDG_CACHE_HOME: xdg } });
    assert.equal(fromXdg.etcd, join(xdg, 'driftless/control-plane', release, 'etcd'));
    const fromOwn = await resolve(machine, { environment: { XDG_CACHE_HOME: xdg, DRIFTLESS_CACHE_DIR: own } });
    assert.equal(fromOwn.etcd, join(own, 'control-plane', release, 'etcd'));
  });
});

describe('the control plane is downloaded', () => {
  it('once: the binaries are taken out of verified archives and kept', async () => {
    await using machine = withTar(newMachine());
    await using mirror = await newMirror();
    const environment = { DRIFTLESS_DOWNLOAD_MIRROR: mirror.url };
    const first = await resolve(machine, { environment, release: mirror.release });
    const second = await resolve(machine, { environment, release: mirror.release });
    assert.deepEqual(second, first);
    assert.equal(mirror.requests(), 2);
    assert.deepEqual(readdirSync(machine.cache).toSorted(), ['etcd', 'kube-apiserver', 'kube-controller-manager']);
    assert.equal(readFileSync(first.kubeControllerManager, 'utf8'), 'downloaded');
    assert.deepEqual(readdirSync(dirname(machine.cache)), [machine.cache.split('/').at(-1)]);
  });

  it('never from an archive with another digest, of which nothing is kept', async () => {
    await using machine = withTar(newMachine());
    await using mirror = await newMirror('0'.repeat(128));
    const environment = { DRIFTLESS_DOWNLOAD_MIRROR: mirror.url };
    await assert.rejects(resolve(machine, { environment, release: mirror.release }), (thrown) => {
      assert(thrown instanceof ControlPlaneUnavailableError);
      const reason = thrown.misses.find(({ way }) => way === 'download')?.reason ?? '';
      assert.match(
        reason,
        /envtest-v1\.36\.2-linux-amd64\.tar\.gz is not what was pinned: its SHA-512 is [0-9a-f]{128}, not 0{128}/,
      );
      return true;
    });
    assert.deepEqual(readdirSync(dirname(machine.cache)), []);
  });
});

describe('the control plane is built', () => {
  it('with Go, when it cannot be downloaded', async () => {
    await using machine = withGo(newMachine(), 0);
    const said: string[] = [];
    const { kubeApiserver } = await resolve(machine, { said });
    assert.equal(kubeApiserver, join(machine.cache, 'kube-apiserver'));
    assert.equal(readFileSync(kubeApiserver, 'utf8'), 'built\n');
    assert.match(said.join('\n'), /building kube-apiserver and kube-controller-manager v1\.36\.2 from Go modules/);
    assert.deepEqual(readdirSync(dirname(machine.cache)), [machine.cache.split('/').at(-1)]);
  });

  it('once, when two processes need it at the same time', async () => {
    await using machine = withGo(newMachine(), 0.3);
    const outputs = await Promise.all([runResolver(machine).output, runResolver(machine).output]);
    assert.equal(outputs[0]?.stdout, outputs[1]?.stdout);
    assert.equal(JSON.parse(outputs[0]?.stdout ?? '').etcd, join(machine.cache, 'etcd'));
    // One for etcd, one for Kubernetes.
    assert.equal(goRuns(machine).length, 2);
    const waited = outputs.filter(({ stderr }) => /waiting for process \d+, which is getting/.test(stderr));
    assert.equal(waited.length, 1);
  });

  it('again, after a builder was killed with kill -9: its compiler and its files are gone', async () => {
    await using machine = withGo(newMachine(), 60);
    const victim = runResolver(machine);
    await eventually('the compiler runs', () => goRuns(machine).length === 1);
    victim.child.kill('SIGKILL');
    await eventually('the compiler is gone', () => !goRuns(machine).some(isRunning));
    await eventually(
      'its files are gone',
      () => !readdirSync(dirname(machine.cache)).some((name) => name.includes('.partial-')),
    );

    await resolve(withGo(machine, 0));
    assert.deepEqual(readdirSync(dirname(machine.cache)), [machine.cache.split('/').at(-1)]);
  });

  it('not to the end when it is interrupted: no compiler, no files and no lock stay', async () => {
    await using machine = withGo(newMachine(), 60);
    const interrupt = new AbortController();
    const resolving = resolve(machine, { signal: interrupt.signal });
    await eventually('the compiler runs', () => goRuns(machine).length === 1);
    interrupt.abort();
    await assert.rejects(resolving, { name: 'AbortError' });
    assert.deepEqual(goRuns(machine).map(isRunning), [false]);
    assert.deepEqual(readdirSync(dirname(machine.cache)), []);
  });

  it('after what a dead process left behind was removed, its lock included', async () => {
    await using machine = withGo(newMachine(), 0);
    mkdirSync(`${machine.cache}.partial-${noSuchProcess}/bin`, { recursive: true });
    symlinkSync(noSuchProcess, `${machine.cache}.lock`);
    await resolve(machine);
    assert.deepEqual(readdirSync(dirname(machine.cache)), [machine.cache.split('/').at(-1)]);
  });
});

describe('a machine that cannot get the control plane', () => {
  it('is told the reason of every way, and what would be enough', async () => {
    await using machine = newMachine();
    const failure = resolve(machine, { environment: { KUBEBUILDER_ASSETS: '/nowhere' } });
    await assert.rejects(failure, (thrown) => {
      assert(thrown instanceof ControlPlaneUnavailableError);
      assert.equal(thrown.code, 'CONTROL_PLANE_UNAVAILABLE');
      const all = 'lacks etcd and kube-apiserver and kube-controller-manager';
      const [assets, cache, download, build] = thrown.misses;
      assert.deepEqual(assets, { way: 'KUBEBUILDER_ASSETS', reason: `/nowhere ${all}` });
      assert.deepEqual(cache, { way: 'cache', reason: `${machine.cache} ${all}` });
      assert.equal(download?.way, 'download');
      assert.match(download?.reason ?? '', /cannot be downloaded|there are no pinned releases for/);
      assert.deepEqual(build, { way: 'build', reason: 'go is not on PATH' });
      assert.match(
        thrown.message,
        /Any one of these is enough: KUBEBUILDER_ASSETS .* DRIFTLESS_DOWNLOAD_MIRROR .* Go 1\.26/,
      );
      return true;
    });
    assert.equal(existsSync(machine.cache), false);
  });

  it('is told what the compiler said last', async () => {
    await using machine = withGo(newMachine(), 0);
    const environment = { PATH: '/usr/bin:/bin' };
    const failing = `#!/bin/sh\necho "go: go.mod requires go >= 1.26.0 (running go 1.22.1; GOTOOLCHAIN=local)" >&2; exit 1\n`;
    const bin = join(machine.directory, 'old-go');
    writeBinaries(bin, failing, ['go']);
    await assert.rejects(resolve(machine, { environment: { PATH: `${bin}:${environment.PATH}` } }), {
      code: 'CONTROL_PLANE_UNAVAILABLE',
      message:
        /build: go build of etcd v3\.6\.16 failed \(it needs Go 1\.26 or newer\): go: go\.mod requires go >= 1\.26\.0/,
    });
  });
});

interface Overrides {
  readonly environment?: Readonly<Record<string, string>>;
  readonly release?: Release;
  readonly signal?: AbortSignal;
  /** Collects what it says. */
  readonly said?: string[];
}

function resolve(machine: Machine, { environment = {}, said = [], signal, release }: Overrides = {}) {
  return resolveBinaries({
    environment: { ...machine.environment, ...environment },
    onProgress: (text) => said.push(text),
    signal: signal ?? new AbortController().signal,
    ...(release === undefined ? {} : { release }),
  });
}

/** With the system's tools on PATH, of which unpacking needs two. */
function withTar(machine: Machine): Machine {
  for (const tool of ['tar', 'gzip']) {
    const path = ['/usr/bin', '/bin'].map((directory) => join(directory, tool)).find(existsSync);
    if (path !== undefined) symlinkSync(path, join(machine.directory, 'bin', tool));
  }
  return machine;
}

function runResolver(machine: Machine) {
  const script = fileURLToPath(new URL('binaries-resolver.ts', import.meta.url));
  const child = spawn(process.execPath, [script], { env: machine.environment });
  const output = new Promise<{ stdout: string; stderr: string }>((resolved) => {
    const said = { stdout: '', stderr: '' };
    child.stdout.on('data', (data) => (said.stdout += data));
    child.stderr.on('data', (data) => (said.stderr += data));
    child.once('close', () => resolved(said));
  });
  return { child, output };
}
