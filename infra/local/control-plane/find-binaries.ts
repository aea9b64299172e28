import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { join } from 'node:path';
import type { Environment } from '../../../shared/adapters/zod/environment.ts';
import { cachePath } from './cache.ts';
import type { Miss } from './control-plane-unavailable-error.ts';
import { BINARY_NAMES, PINNED, type Release } from './release.ts';

/** The programs of a control plane, as absolute paths. */
export interface Binaries {
  readonly etcd: string;
  readonly kubeApiserver: string;
  readonly kubeControllerManager: string;
}

export interface FindOptions {
  /** `KUBEBUILDER_ASSETS`, `DRIFTLESS_CACHE_DIR`, `XDG_CACHE_HOME`, `HOME`. */
  readonly environment: Environment;
  /** @default the one that is pinned */
  readonly release?: Release;
}

export interface Search {
  readonly binaries: Binaries | undefined;
  /** Why the places before did not do. */
  readonly misses: readonly Miss[];
}

/** Looks for what is on this machine already: in `KUBEBUILDER_ASSETS`, then in the cache. */
export async function findBinaries({ environment, release = PINNED }: FindOptions): Promise<Search> {
  const { KUBEBUILDER_ASSETS: assets } = environment;
  const misses: Miss[] = [];
  if (assets === undefined || assets === '') {
    misses.push({ way: 'KUBEBUILDER_ASSETS', reason: 'is not set' });
  } else {
    const missing = await missingIn(assets);
    if (missing.length === 0) return { binaries: binariesIn(assets), misses };
    misses.push({ way: 'KUBEBUILDER_ASSETS', reason: `${assets} lacks ${missing.join(' and ')}` });
  }

  const cache = cachePath(environment, release);
  const missing = await missingIn(cache);
  if (missing.length === 0) return { binaries: binariesIn(cache), misses };
  misses.push({ way: 'cache', reason: `${cache} lacks ${missing.join(' and ')}` });
  return { binaries: undefined, misses };
}

/** Which of the three are not there, or cannot be executed. */
export async function missingIn(directory: string): Promise<readonly string[]> {
  const missing = await Promise.all(
    BINARY_NAMES.map(async (name) => {
      try {
        await access(join(directory, name), constants.X_OK);
        return undefined;
      } catch {
        return name;
      }
    }),
  );
  return missing.filter((name) => name !== undefined);
}

export function binariesIn(directory: string): Binaries {
  return {
    etcd: join(directory, 'etcd'),
    kubeApiserver: join(directory, 'kube-apiserver'),
    kubeControllerManager: join(directory, 'kube-controller-manager'),
  };
}
