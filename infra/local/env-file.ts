import { writeFile } from 'node:fs/promises';

/**
 * Writes the settings by which another terminal joins in, for `source`.
 *
 * @param path in the directory of the stack, which only its user can read and which ends with it
 */
export async function writeEnvFile(path: string, env: Readonly<Record<string, string>>): Promise<void> {
  await writeFile(path, shellExports(env), { mode: 0o600 });
}

/** `export NAME='value'`, a line each, whatever the values hold. */
export function shellExports(env: Readonly<Record<string, string>>): string {
  return Object.entries(env)
    .map(([name, value]) => `export ${name}='${value.replaceAll("'", "'\\''")}'\n`)
    .join('');
}
