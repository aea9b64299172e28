import { isDeepStrictEqual } from 'node:util';
import { sameQuantity } from './quantity.ts';

/** One field that is not as desired. */
export interface FieldChange {
  /** e.g. `spec.template.spec.containers[name=web].image`. */
  readonly path: string;
  readonly have: unknown;
  readonly want: unknown;
}

/**
 * What of `want` is not so in `have`. Empty means: writing `want` would change nothing.
 *
 * Only where `want` says something: fields that the server defaulted, or that other managers added, are no
 * difference. Lists with merge keys are compared entry by entry, other lists as wholes; an empty value equals an
 * absent one, and quantities are compared as numbers.
 */
export function diff(want: unknown, have: unknown): readonly FieldChange[] {
  const changes: FieldChange[] = [];
  compare(want, have, [], changes);
  return changes;
}

type Path = readonly string[];

function compare(want: unknown, have: unknown, path: Path, changes: FieldChange[]): void {
  if (isEmpty(want) && isEmpty(have)) return;
  if (isObject(want) && isObject(have)) {
    for (const [field, value] of Object.entries(want)) compare(value, have[field], [...path, field], changes);
    return;
  }
  if (Array.isArray(want) && Array.isArray(have)) {
    compareLists(want, have, path, changes);
    return;
  }
  if (isDeepStrictEqual(want, have)) return;
  if (isQuantity(path) && sameQuantity(want, have)) return;
  changes.push({ path: format(path), have, want });
}

function compareLists(want: readonly unknown[], have: readonly unknown[], path: Path, changes: FieldChange[]): void {
  const keys = mergeKeysOf(path, want);
  if (keys === undefined) {
    // An atomic list belongs to one manager as a whole, so one entry more or less is a difference.
    if (want.length !== have.length) changes.push({ path: format(path), have, want });
    else for (const [i, entry] of want.entries()) compare(entry, have[i], [...path, `[${i}]`], changes);
    return;
  }
  for (const entry of want) {
    const match = have.find((other) => keys.every((key) => field(other, key) === field(entry, key)));
    const id = keys.map((key) => `${key}=${String(field(entry, key))}`).join(',');
    compare(entry, match, [...path, `[${id}]`], changes);
  }
}

/**
 * The merge keys of the lists that the built-in kinds declare as maps (`x-kubernetes-list-map-keys`), by the list's
 * field. A key that an entry leaves out has the server's default, so only keys that all entries name are used.
 */
const MERGE_KEYS: Readonly<Record<string, readonly string[]>> = {
  conditions: ['type'],
  containers: ['name'],
  env: ['name'],
  ephemeralContainers: ['name'],
  imagePullSecrets: ['name'],
  initContainers: ['name'],
  ownerReferences: ['uid'],
  topologySpreadConstraints: ['topologyKey', 'whenUnsatisfiable'],
  volumeDevices: ['devicePath'],
  volumeMounts: ['mountPath'],
  volumes: ['name'],
};

function mergeKeysOf(path: Path, want: readonly unknown[]): readonly string[] | undefined {
  const list = path.at(-1) ?? '';
  const keys = list === 'ports' ? portKeys(path, want) : MERGE_KEYS[list];
  return keys !== undefined && want.every((entry) => keys.every((key) => field(entry, key) !== undefined))
    ? keys
    : undefined;
}

function portKeys(path: Path, want: readonly unknown[]): readonly string[] | undefined {
  const port = path.includes('containers') || path.includes('initContainers') ? 'containerPort' : 'port';
  const withProtocol = want.every((entry) => field(entry, 'protocol') !== undefined);
  return withProtocol ? [port, 'protocol'] : [port];
}

const QUANTITY_PARENTS = new Set(['limits', 'requests', 'capacity', 'hard', 'podFixed']);

function isQuantity(path: Path): boolean {
  return QUANTITY_PARENTS.has(path.at(-2) ?? '') || path.at(-1) === 'sizeLimit';
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === '') return true;
  if (Array.isArray(value)) return value.length === 0;
  return isObject(value) && Object.keys(value).length === 0;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function field(entry: unknown, key: string): unknown {
  return isObject(entry) ? entry[key] : undefined;
}

function format(path: Path): string {
  return path.join('.').replaceAll('.[', '[');
}
