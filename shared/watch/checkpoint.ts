import { formatGroupKind, type Kind } from '../kube/kind.ts';
import { isNotNewer } from '../kube/version.ts';
import { kindsOf, type Watcher } from './mapping.ts';

/**
 * How far a forwarder has got: for each kind, as kubectl names it (`Deployment.apps`), the resourceVersion up to which
 * the broker has taken every doorbell. Who watches on from there hears everything else again. A kind that is not in it
 * has to be listed.
 */
export type Checkpoint = Readonly<Record<string, string>>;

/** Where a doorbell comes from: watching the kind on from `after` tells its news again; `list`: only a list does. */
export interface Origin {
  readonly kind: string;
  readonly after: string | 'list';
}

/** The origins of two doorbells that became one: of each kind the earlier one. */
export function earliest(a: readonly Origin[], b: readonly Origin[]): readonly Origin[] {
  if (a.length === 0) return b;
  const merged = new Map(a.map((origin) => [origin.kind, origin]));
  for (const origin of b) {
    const known = merged.get(origin.kind);
    if (known === undefined || isEarlier(origin.after, known.after)) merged.set(origin.kind, origin);
  }
  return [...merged.values()];
}

/**
 * How far everything has got.
 *
 * @param heard for each kind what was heard last: an event or a bookmark
 * @param waiting the origins of what the broker has not taken yet
 */
export function checkpointOf(heard: ReadonlyMap<string, string>, waiting: Iterable<readonly Origin[]>): Checkpoint {
  const reached = new Map<string, string>(heard);
  for (const origins of waiting) {
    for (const { kind, after } of origins) {
      const known = reached.get(kind);
      if (known === undefined) continue;
      if (after === 'list') reached.delete(kind);
      else if (isEarlier(after, known)) reached.set(kind, after);
    }
  }
  return Object.fromEntries(reached);
}

/**
 * The kinds that have to be listed, although others are resumed. What happened to a child says whom it concerns only as
 * long as somebody watched; so a watcher whose one kind is listed needs all of its kinds listed.
 */
export function kindsToList(watchers: readonly Watcher[], checkpoint: Checkpoint): ReadonlySet<string> {
  const listed = new Set<string>();
  const needsList = (kind: Kind): boolean => {
    const name = formatGroupKind(kind);
    return listed.has(name) || !Object.hasOwn(checkpoint, name);
  };
  for (let before = -1; before < listed.size; ) {
    before = listed.size;
    for (const watcher of watchers) {
      if (!kindsOf(watcher).some(needsList)) continue;
      for (const kind of kindsOf(watcher)) listed.add(formatGroupKind(kind));
    }
  }
  return listed;
}

export function encodeCheckpoint(checkpoint: Checkpoint): string {
  return JSON.stringify(checkpoint);
}

/** What cannot be read was left by somebody else, and is as good as nothing: the kinds are listed. */
export function decodeCheckpoint(text: string | undefined): Checkpoint {
  if (text === undefined) return {};
  const parsed = parse(text);
  if (typeof parsed !== 'object' || parsed === null) return {};
  return Object.fromEntries(
    Object.entries(parsed).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  );
}

function isEarlier(a: Origin['after'], b: Origin['after']): boolean {
  if (a === 'list' || b === 'list') return a === 'list' && b !== 'list';
  return !isNotNewer(b, a);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
