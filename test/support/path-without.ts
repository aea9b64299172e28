import { existsSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';

export interface ShadowPath {
  readonly path: string;
  remove(): void;
}

/** A PATH on which everything is found but these programs. */
export function pathWithout(programs: readonly string[]): ShadowPath {
  const shadow = mkdtempSync(join(tmpdir(), 'path-'));
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => existsSync(folder));
  const shadowed = folders.map((folder, i) => {
    const files = readdirSync(folder);
    if (!files.some((file) => programs.includes(file))) return folder;
    const copy = mkdtempSync(join(shadow, `${i}-`));
    for (const file of files) if (!programs.includes(file)) symlinkSync(join(folder, file), join(copy, file));
    return copy;
  });
  return { path: shadowed.join(delimiter), remove: () => rmSync(shadow, { recursive: true, force: true }) };
}
