import { watch } from 'node:fs';

export interface SourceWatchOptions {
  readonly folders: readonly string[];
  /** Gets one of the files that changed. */
  readonly onChange: (file: string) => Promise<void>;
  /** Gets what `onChange` threw; the watch goes on. */
  readonly onError: (error: unknown) => void;
}

export interface SourceWatch {
  close(): void;
}

/** Editors write a file in several steps; what comes within this time is one change. */
const SETTLE_MS = 150;

/** Calls `onChange` once the folders are quiet again after a change, never twice at a time. */
export function watchSources({ folders, onChange, onError }: SourceWatchOptions): SourceWatch {
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
