import { execFile } from 'node:child_process';

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs kubectl as a user would, from outside. Never throws: the exit status is part of what is tested. */
export function kubectl(kubeconfig: string, args: readonly string[], input?: string): Promise<Ran> {
  return new Promise((resolve) => {
    const child = execFile(
      'kubectl',
      ['--kubeconfig', kubeconfig, ...args],
      { encoding: 'utf8' },
      (error, stdout, stderr) => resolve({ code: codeOf(error), stdout, stderr }),
    );
    child.stdin?.end(input ?? '');
  });
}

/** Node gives the exit status as a number, and the name of the failure when there was no process. */
function codeOf(error: { readonly code?: number | string | null } | null): number {
  if (error === null) return 0;
  return typeof error.code === 'number' ? error.code : 1;
}
