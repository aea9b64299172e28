import { isDeepStrictEqual } from 'node:util';
import type { StatusCause } from '../../kube/api-error.ts';
import type { ManagedFields } from '../../kube/object.ts';
import {
  type Fields,
  formatPath,
  hasPath,
  type Leaves,
  leavesOf,
  overlaid,
  toFieldsV1,
  without,
} from './cluster-fields.ts';

/** One entry of `metadata.managedFields`. */
export interface Manager {
  readonly manager: string;
  readonly operation: 'Apply' | 'Update';
  readonly subresource?: 'status';
  readonly paths: ReadonlySet<string>;
}

/** The part of an object that managers share, with who manages what. */
export interface Managed {
  readonly fields: Fields;
  readonly managers: readonly Manager[];
}

export type ApplyOutcome =
  | { readonly kind: 'applied'; readonly managed: Managed }
  | { readonly kind: 'conflict'; readonly causes: readonly StatusCause[] };

/**
 * Server-side apply (KEP-555): fields that `desired` names become the manager's, those that it named before and does
 * not any more are given up, and go when nobody else manages them. A field of somebody else that would change is a
 * conflict, or with `force` changes hands; the same value is shared.
 */
export function applied(live: Managed, desired: Fields, manager: string, force: boolean): ApplyOutcome {
  const others = live.managers.filter((m) => !isApplier(m, manager));
  const before = leavesOf(live.fields);
  const wanted = leavesOf(desired);
  const changed = differing(before, wanted);

  const causes = others.flatMap((other) => conflictsWith(other, changed));
  if (causes.length > 0 && !force) return { kind: 'conflict', causes };

  const remaining = others.map((other) => lessPaths(other, changed));
  const kept = new Set([...wanted.keys(), ...remaining.flatMap(({ paths }) => [...paths])]);
  const mine = live.managers.find((m) => isApplier(m, manager))?.paths ?? [];
  const givenUp = new Set([...mine].filter((path) => !kept.has(path)));
  return {
    kind: 'applied',
    managed: {
      fields: without(overlaid(live.fields, desired) as Fields, givenUp, kept),
      managers: present([{ manager, operation: 'Apply', paths: new Set(wanted.keys()) }, ...remaining]),
    },
  };
}

/** A write that is no apply: what it changes becomes the manager's, whoever had it. */
export function updated(live: Managed, fields: Fields, manager: string, subresource?: 'status'): Managed {
  const before = leavesOf(live.fields);
  const after = leavesOf(fields);
  const changed = differing(before, after);
  const removed = [...before.keys()].filter((path) => !hasPath(after, path));
  const touched = new Set([...changed, ...removed]);
  const isWriter = (m: Manager) => m.manager === manager && m.operation === 'Update' && m.subresource === subresource;
  const mine = live.managers.find(isWriter)?.paths ?? [];
  const paths = new Set([...mine, ...changed].filter((path) => hasPath(after, path)));
  return {
    fields,
    managers: present([
      ...live.managers.filter((m) => !isWriter(m)).map((other) => lessPaths(other, touched)),
      { manager, operation: 'Update', ...(subresource === undefined ? {} : { subresource }), paths },
    ]),
  };
}

export function toManagedFields(managers: readonly Manager[]): readonly ManagedFields[] {
  return managers.map((manager) => {
    const { paths, ...entry } = manager;
    const fieldsV1 = FIELDS_V1.get(manager) ?? toFieldsV1(paths);
    FIELDS_V1.set(manager, fieldsV1);
    return { ...entry, fieldsV1 };
  });
}

/** A manager's fields are written out once, however often the object is read. */
const FIELDS_V1 = new WeakMap<Manager, Fields>();

function isApplier(entry: Manager, manager: string): boolean {
  return entry.manager === manager && entry.operation === 'Apply' && entry.subresource === undefined;
}

function differing(before: Leaves, after: Leaves): ReadonlySet<string> {
  return new Set([...after.keys()].filter((path) => !isDeepStrictEqual(after.get(path), valueAt(before, path))));
}

/** A map with something in it is no other than an empty one, to those who only say that there is a map. */
function valueAt(leaves: Leaves, path: string): unknown {
  if (leaves.has(path)) return leaves.get(path);
  return hasPath(leaves, path) ? {} : undefined;
}

function conflictsWith({ manager, paths }: Manager, changed: ReadonlySet<string>): readonly StatusCause[] {
  return [...changed]
    .filter((path) => paths.has(path))
    .map((path) => ({
      reason: 'FieldManagerConflict',
      message: `conflict with "${manager}"`,
      field: formatPath(path),
    }));
}

function lessPaths(entry: Manager, touched: ReadonlySet<string>): Manager {
  return { ...entry, paths: new Set([...entry.paths].filter((path) => !touched.has(path))) };
}

/** In a stable order, so that equal management is equal data. */
function present(managers: readonly Manager[]): readonly Manager[] {
  return managers.filter(({ paths }) => paths.size > 0).sort((a, b) => orderOf(a).localeCompare(orderOf(b)));
}

function orderOf({ manager, operation, subresource }: Manager): string {
  return `${operation} ${subresource ?? ''} ${manager}`;
}
