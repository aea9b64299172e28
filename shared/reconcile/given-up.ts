import type { KubeObject, Stored } from '../kube/object.ts';
import type { FieldChange } from './diff.ts';

type Fields = Readonly<Record<string, unknown>>;

/**
 * The fields of `observed` that our last apply owns and `desired` does not name any more.
 *
 * A diff that looks only where `desired` speaks cannot see them; the next apply releases them, and the server removes
 * what nobody else owns. What is owned comes from `managedFields`, so no copy of the last apply is kept anywhere.
 */
export function givenUp(desired: KubeObject, observed: Stored, fieldManager: string): readonly FieldChange[] {
  const changes: FieldChange[] = [];
  for (const { manager, operation, subresource, fieldsV1 } of observed.metadata.managedFields ?? []) {
    if (manager !== fieldManager || operation !== 'Apply' || subresource !== undefined) continue;
    walk(fieldsV1 ?? {}, desired, observed, '', changes);
  }
  return changes;
}

function walk(owned: Fields, desired: unknown, observed: unknown, path: string, changes: FieldChange[]): void {
  for (const [step, nested] of Object.entries(owned)) {
    if (step === '.') continue;
    const want = stepInto(desired, step);
    const have = stepInto(observed, step);
    // Gone already, or the server's spelling of a key that we leave to its default.
    if (have === undefined) continue;
    const here = `${path}${nameOf(step, path)}`;
    if (want === undefined || want === null) changes.push({ path: here, have, want: undefined });
    else walk(nested as Fields, want, have, here, changes);
  }
}

/** The value that one step of a FieldsV1 path leads to. */
function stepInto(value: unknown, step: string): unknown {
  const rest = step.slice(2);
  if (step.startsWith('f:')) return isFields(value) ? value[rest] : undefined;
  if (!Array.isArray(value)) return undefined;
  if (step.startsWith('v:')) {
    const member: unknown = JSON.parse(rest);
    return value.find((entry) => entry === member);
  }
  const keys = Object.entries(JSON.parse(rest) as Fields);
  return value.find(
    (entry) => isFields(entry) && keys.every(([key, expected]) => entry[key] === undefined || entry[key] === expected),
  );
}

function nameOf(step: string, path: string): string {
  const rest = step.slice(2);
  if (step.startsWith('f:')) return path === '' ? rest : `.${rest}`;
  if (step.startsWith('v:')) return `[${rest}]`;
  const keys = Object.entries(JSON.parse(rest) as Fields);
  return `[${keys.map(([key, value]) => `${key}=${String(value)}`).join(',')}]`;
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
