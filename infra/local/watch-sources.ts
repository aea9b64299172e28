import { watch } from 'node:fs';

export interface SourceWatch {
  close(): void;
}

/** Editors write a file in several steps; what comes within this time is one change. */
const SETTLE_MS = 150;

/**
 * Calls `onChange` with a changed file once the folders are quiet again, never twice at a time.
 *
 * A failing `onChange` is reported and does not end the watch: the next edit may mend what the last one broke.
 */
export function watchSources(
  folders: readonly string[],
  onChange: (file: string) => Promise<void>,
  onError: (error: unknown) => void = (error) => console.error(error),
): SourceWatch {
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> = Promise.resolve();
  const changed = (folder: string, file: string | null): void => {
    if (file === null || !file.endsWith('.ts')) return;
    clearTimeout(timer);
    timer = setTimeout(() => {
      running = running.then(() => onChange(`${folder}/${file}`)).catch(onError);
    }, SETTLE_MS);
  };
  const watchers = folders.map((folder) => watch(folder, { recursive: true }, (_event, file) => changed(folder, file)));
  return {
    close() {
      clearTimeout(timer);
      for (const watcher of watchers) watcher.close();
    },
  };
}
