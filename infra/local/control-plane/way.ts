import type { Environment } from '../../../shared/adapters/zod/environment.ts';
import type { RunDirectory } from '../supervisor/run-directory.ts';
import type { Release } from './release.ts';

export interface WayOptions {
  readonly environment: Environment;
  readonly release: Release;
  /** For whatever is needed on the way; it and its processes are gone afterwards, however this process ends. */
  readonly workspace: RunDirectory;
  readonly onProgress: (text: string) => void;
  readonly signal: AbortSignal;
}

/**
 * One way to the binaries: puts all of them into `directory`, or says why it cannot.
 *
 * @throws the signal's reason when it aborts.
 */
export type Way = (options: WayOptions & { readonly directory: string }) => Promise<string | undefined>;

const REPORT_EVERY_MS = 5_000;

/** Says `text` with the seconds that have passed, every few of them, until `work` is done. */
export async function withProgress<T>(
  { onProgress }: Pick<WayOptions, 'onProgress'>,
  text: () => string,
  work: Promise<T>,
): Promise<T> {
  const startedAt = performance.now();
  const report = (): void => onProgress(`${text()} … ${Math.round((performance.now() - startedAt) / 1_000)} s`);
  report();
  const timer = setInterval(report, REPORT_EVERY_MS);
  try {
    return await work;
  } finally {
    clearInterval(timer);
  }
}
