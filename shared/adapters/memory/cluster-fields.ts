/** A JSON object whose fields are not known here. */
export type Fields = Readonly<Record<string, unknown>>;

/**
 * What can have a manager, by its path: scalars, atomic lists and maps, members of sets, items of keyed lists.
 *
 * A path is the steps of FieldsV1 (`f:spec`, `k:{"name":"web"}`, `v:"x"`), joined by `SEPARATOR`.
 */
export type Leaves = ReadonlyMap<string, unknown>;

const SEPARATOR = '\0';

/** Stands at the path of a list item itself, beside the fields in it. */
const ITEM = '.';

/**
 * The lists of Kubernetes that merge item by item, by the names of their fields, with the keys of their items. An API
 * server has this in its schemas; every other list is atomic: it belongs to one manager as a whole.
 */
const LIST_KEYS: Readonly<Record<string, readonly string[]>> = {
  conditions: ['type'],
  containers: ['name'],
  env: ['name'],
  imagePullSecrets: ['name'],
  initContainers: ['name'],
  ownerReferences: ['uid'],
  volumeMounts: ['mountPath'],
  volumes: ['name'],
};

/** A container's ports and a Service's; a NetworkPolicy's are part of an atomic list. */
const PORT_KEYS = ['containerPort', 'port'];

const SETS: ReadonlySet<string> = new Set(['finalizers']);
const ATOMIC_MAPS: ReadonlySet<string> = new Set(['selector']);

export function leavesOf(object: Fields): Leaves {
  const leaves = new Map<string, unknown>();
  collect(object, [], '', leaves);
  return leaves;
}

/** Whether something stands at the path, as a leaf or above one. */
export function hasPath(leaves: Leaves, path: string): boolean {
  if (leaves.has(path)) return true;
  const prefix = path + SEPARATOR;
  return [...leaves.keys()].some((leaf) => leaf.startsWith(prefix));
}

/** `desired` laid over `live`; what `desired` does not name stays. */
export function overlaid(live: unknown, desired: unknown, field = ''): unknown {
  const above = childrenOf(desired, field);
  if (above === undefined) return desired;
  const below = Array.isArray(live) === Array.isArray(desired) ? childrenOf(live, field) : undefined;
  const children = new Map(below?.map((child) => [child.step, child]));
  for (const child of above) {
    if (!children.has(child.step) && isEmptyKeyedList(child)) continue;
    const value = overlaid(children.get(child.step)?.value, child.value, child.field);
    children.set(child.step, { ...child, value });
  }
  return assembled(Array.isArray(desired), [...children.values()]);
}

/** The object without the `doomed` leaves, and without the maps and lists that became empty and nobody `kept`. */
export function without(object: Fields, doomed: ReadonlySet<string>, kept: ReadonlySet<string>): Fields {
  return Object(pruned(object, [], '', doomed, kept) ?? {});
}

/** The paths as `metadata.managedFields[].fieldsV1` has them. */
export function toFieldsV1(paths: Iterable<string>): Fields {
  const root: Record<string, unknown> = {};
  for (const path of paths) {
    let node = root;
    for (const step of path.split(SEPARATOR)) {
      node[step] ??= {};
      node = node[step] as Record<string, unknown>;
    }
    if (path.slice(path.lastIndexOf(SEPARATOR) + 1).startsWith('k:')) node[ITEM] = {};
  }
  return root;
}

/** A path as conflicts name it: `.spec.containers[name="web"].image`. */
export function formatPath(path: string): string {
  return path.split(SEPARATOR).map(formatStep).join('');
}

/** A copy that shares nothing: many times as fast as `structuredClone`, for what JSON can say. */
export function copied<T>(value: T): T {
  if (Array.isArray(value)) return value.map(copied) as T;
  if (!isFields(value)) return value;
  const copy: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(value)) copy[name] = copied(field);
  return copy as T;
}

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

interface Child {
  readonly step: string;
  readonly value: unknown;
  /** The name that decides how a list or map below merges; '' for list items. */
  readonly field: string;
}

/** The parts that merge one by one; undefined for what is one leaf. */
function childrenOf(value: unknown, field: string): readonly Child[] | undefined {
  if (isFields(value)) {
    if (ATOMIC_MAPS.has(field)) return undefined;
    return Object.entries(value).map(([name, nested]) => ({ step: `f:${name}`, value: nested, field: name }));
  }
  if (!Array.isArray(value)) return undefined;
  const items: readonly unknown[] = value;
  if (SETS.has(field)) return items.map((item) => ({ step: `v:${JSON.stringify(item)}`, value: item, field: '' }));
  if (items.length === 0) return field in LIST_KEYS ? [] : undefined;
  const children: Child[] = [];
  for (const item of items) {
    const keys = keysOf(item, field);
    if (keys === undefined) return undefined;
    children.push({ step: `k:${JSON.stringify(keys)}`, value: item, field: '' });
  }
  return children;
}

/** Says nothing: nobody owns it, and the server does not store it. */
function isEmptyKeyedList({ value, field }: Child): boolean {
  return Array.isArray(value) && childrenOf(value, field)?.length === 0;
}

function keysOf(item: unknown, field: string): Fields | undefined {
  if (!isFields(item)) return undefined;
  if (field === 'ports') {
    const { protocol = 'TCP' } = item;
    const key = PORT_KEYS.find((name) => item[name] !== undefined);
    return key === undefined ? undefined : { [key]: item[key], protocol };
  }
  const names = LIST_KEYS[field];
  if (names?.every((name) => item[name] !== undefined) !== true) return undefined;
  return Object.fromEntries(names.map((name) => [name, item[name]]));
}

function collect(value: unknown, path: readonly string[], field: string, leaves: Map<string, unknown>): void {
  const children = childrenOf(value, field);
  const isLeaf = children === undefined || (children.length === 0 && !Array.isArray(value));
  if (isLeaf && path.length > 0) leaves.set(path.join(SEPARATOR), value);
  for (const child of children ?? []) {
    const here = [...path, child.step];
    if (child.step.startsWith('k:')) leaves.set(here.join(SEPARATOR), ITEM);
    collect(child.value, here, child.field, leaves);
  }
}

function pruned(
  value: unknown,
  path: readonly string[],
  field: string,
  doomed: ReadonlySet<string>,
  kept: ReadonlySet<string>,
): unknown {
  const here = path.join(SEPARATOR);
  const children = childrenOf(value, field);
  if (children === undefined || children.length === 0) return doomed.has(here) ? undefined : value;

  const left = children.flatMap((child) => {
    const at = [...path, child.step];
    const rest = pruned(child.value, at, child.field, doomed, kept);
    if (!child.step.startsWith('k:')) return rest === undefined ? [] : [{ ...child, value: rest }];
    // An item goes with its manager, unless somebody else has a field in it: then its keys stay as well.
    const prefix = at.join(SEPARATOR) + SEPARATOR;
    if (doomed.has(at.join(SEPARATOR)) && ![...kept].some((other) => other.startsWith(prefix))) return [];
    return [{ ...child, value: { ...(JSON.parse(child.step.slice(2)) as Fields), ...Object(rest) } }];
  });
  if (left.length === 0 && !kept.has(here)) return undefined;
  return assembled(Array.isArray(value), left);
}

function assembled(isList: boolean, children: readonly Child[]): unknown {
  if (isList) return children.map(({ value }) => value);
  return Object.fromEntries(children.map(({ step, value }) => [step.slice(2), value]));
}

function formatStep(step: string): string {
  const rest = step.slice(2);
  if (step.startsWith('f:')) return `.${rest}`;
  if (step.startsWith('v:')) return `[${rest}]`;
  const keys = Object.entries(JSON.parse(rest) as Fields);
  return `[${keys.map(([key, value]) => `${key}=${JSON.stringify(value)}`).join(',')}]`;
}
