import { ConfigError } from '../../../shared/errors.ts';

/** What is wrong with a project id for local use, or undefined. */
export function demoProjectProblem(projectId: string): string | undefined {
  if (/^demo-[a-z0-9-]*[a-z0-9]$/.test(projectId)) return undefined;
  return "must start with 'demo-', an id that no real project can have, so that nothing local ever reaches one: use demo-driftless";
}

/** @throws {ConfigError} unless the project exists only in emulators */
export function enforceDemoProject(projectId: string): void {
  const problem = demoProjectProblem(projectId);
  if (problem !== undefined) throw new ConfigError('the project', [`'${projectId}' ${problem}`]);
}
