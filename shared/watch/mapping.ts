import { formatKey } from '../kube/key.ts';
import type { GroupKind, Kind } from '../kube/kind.ts';
import { type Doorbell, type Heard, MAX_VERSIONS, type News, type Topic } from '../message/doorbell.ts';
import type { ItemKey } from '../queue/work-item.ts';
import type { Change, Entry, Inventory, Owner } from './inventory.ts';
import { primaryMoved, wentBack } from './predicates.ts';

/** The part of a controller that decides what is watched. */
export interface Watcher {
  readonly name: string;
  readonly kind: Kind;
  readonly owns: readonly Kind[];
}

/** What the forwarder knows. */
export interface World {
  readonly cluster: string;
  readonly watchers: readonly Watcher[];
  /** The inventory of a kind that a watcher names. */
  readonly inventoryOf: (kind: GroupKind) => Inventory;
}

/** A doorbell and where it goes. */
export interface Ring {
  readonly topic: Topic;
  readonly doorbell: Doorbell;
}

/** Whom a change concerns: the object itself, or the controller of the child that changed. */
export function ringsOf(world: World, kind: GroupKind, change: Change): readonly Ring[] {
  return world.watchers.flatMap((watcher) => [
    ...(isSame(watcher.kind, kind) ? primaryRings(world, watcher, change) : []),
    ...(watcher.owns.some((owned) => isSame(owned, kind)) ? childRings(world, watcher, kind, change) : []),
  ]);
}

/**
 * One ring for every object of a watcher, with all that is known of its children: for when nothing proves which of it
 * is old, as at the start of the process. On `background`, where the work queue drops what it has seen at one read
 * each.
 *
 * Only once every kind is synced does a child that is missing here not exist; until then the news are the mere
 * versions, which claim less.
 */
export function* censusOf(world: World, watcher: Watcher): Generator<Ring> {
  for (const primary of world.inventoryOf(watcher.kind).entries()) {
    yield {
      topic: 'background',
      doorbell: {
        ...addressOf(world, watcher, primary),
        news: newsOf(isSynced(world, watcher) ? 'census' : 'versions', family(world, watcher, primary)),
        trigger: triggerOf('LISTED', watcher.kind, primary),
      },
    };
  }
}

/** The kinds that a watcher needs to hear of. */
export function kindsOf({ kind, owns }: Watcher): readonly Kind[] {
  return [kind, ...owns];
}

/** Whether every kind of the watcher has been listed completely. */
export function isSynced(world: World, watcher: Watcher): boolean {
  return kindsOf(watcher).every((kind) => world.inventoryOf(kind).synced);
}

export function isSame(a: GroupKind, b: GroupKind): boolean {
  return a.kind === b.kind && a.group === b.group;
}

/** News of these states, or `unknown` when they are more than a message holds. */
export function newsOf(kind: 'versions' | 'census', states: readonly Heard[]): News {
  return states.length > MAX_VERSIONS ? { kind: 'unknown' } : { kind, versions: states };
}

function primaryRings(world: World, watcher: Watcher, change: Change): readonly Ring[] {
  const news = primaryNews(world, watcher, change);
  if (news === undefined) return [];
  const entry = entryIn(change);
  const doorbell = {
    ...addressOf(world, watcher, entry),
    news,
    ...(change.kind === 'deleted' ? { deleted: true } : {}),
    trigger: describe(watcher.kind, change),
  };
  return [{ topic: 'changes', doorbell }];
}

function primaryNews(world: World, watcher: Watcher, change: Change): News | undefined {
  switch (change.kind) {
    case 'added':
      // With its children: what happened to them before their owner was known was dropped below.
      return newsOf('versions', family(world, watcher, change.after));
    case 'modified':
      if (!primaryMoved(change.before, change.after)) return undefined;
      return changeNews(change, stateOf);
    case 'deleted':
      return changeNews(change, stateOf);
  }
}

function childRings(world: World, watcher: Watcher, kind: GroupKind, change: Change): readonly Ring[] {
  return ownersIn(change)
    .filter((owner) => isSame(owner, watcher.kind))
    .flatMap((owner) => childRing(world, watcher, owner, kind, change));
}

function childRing(world: World, watcher: Watcher, owner: Owner, kind: GroupKind, change: Change): readonly Ring[] {
  const primaries = world.inventoryOf(watcher.kind);
  const primary = primaries.get(owner.uid);
  // An owner that a complete list does not know is either gone, and the garbage collector is at work: its own DELETED
  // rang; or so new that its ADDED is still on the way, and will bring along what is known of its children by then.
  if (primary === undefined && primaries.synced) return [];

  const trigger = describe(kind, change);
  const news = changeNews(change, (entry) => childOf(kind, entry));
  if (primary !== undefined) {
    const all = isFoundMissing(change) && isSynced(world, watcher);
    const told = all ? newsOf('census', family(world, watcher, primary)) : news;
    return [{ topic: 'changes', doorbell: { ...addressOf(world, watcher, primary), news: told, trigger } }];
  }
  const namespace = watcher.kind.namespaced ? entryIn(change).namespace : '';
  const key = keyOf(world, watcher, { namespace, name: owner.name });
  return [{ topic: 'changes', doorbell: { key, uid: owner.uid, news, trigger } }];
}

/** What the change alone tells: the new state, or `unknown` where no version could convince the work queue. */
function changeNews(change: Change, heard: (entry: Entry) => Heard): News {
  switch (change.kind) {
    case 'added':
      return newsOf('versions', [heard(change.after)]);
    case 'modified':
      return wentBack(change.before, change.after) ? { kind: 'unknown' } : newsOf('versions', [heard(change.after)]);
    case 'deleted': {
      const { before, resourceVersion } = change;
      if (resourceVersion === undefined) return { kind: 'unknown' };
      return newsOf('versions', [stateOf({ ...before, resourceVersion })]);
    }
  }
}

/** The object first, then its children. */
function family(world: World, watcher: Watcher, primary: Entry): readonly Heard[] {
  const children = watcher.owns.flatMap((kind) =>
    world
      .inventoryOf(kind)
      .childrenOf(primary.uid)
      .map((entry) => childOf(kind, entry)),
  );
  return [stateOf(primary), ...children];
}

function stateOf({ uid, resourceVersion }: Entry): Heard {
  return { uid, resourceVersion };
}

function childOf({ group, kind }: GroupKind, entry: Entry): Heard {
  const { namespace, name } = entry;
  return { ...stateOf(entry), child: { group, kind, namespace, name } };
}

function addressOf(world: World, watcher: Watcher, primary: Entry): Pick<Doorbell, 'key' | 'uid' | 'generation'> {
  const { uid, generation } = primary;
  return { key: keyOf(world, watcher, primary), uid, ...(generation === undefined ? {} : { generation }) };
}

function keyOf(
  { cluster }: World,
  watcher: Watcher,
  { namespace, name }: { readonly namespace: string; readonly name: string },
): ItemKey {
  const { group, kind } = watcher.kind;
  return { cluster, controller: watcher.name, group, kind, namespace, name };
}

function ownersIn(change: Change): readonly Owner[] {
  const now = entryIn(change).controller;
  // A child that changed hands concerns both.
  const once = change.kind === 'modified' ? change.before.controller : undefined;
  return [now, once?.uid === now?.uid ? undefined : once].filter((owner) => owner !== undefined);
}

function entryIn(change: Change): Entry {
  return change.kind === 'deleted' ? change.before : change.after;
}

function isFoundMissing(change: Change): boolean {
  return change.kind === 'deleted' && change.resourceVersion === undefined;
}

const VERB = { added: 'ADDED', modified: 'MODIFIED', deleted: 'DELETED' } as const;

function describe(kind: GroupKind, change: Change): string {
  return triggerOf(VERB[change.kind], kind, entryIn(change));
}

function triggerOf(verb: string, { kind }: GroupKind, entry: Entry): string {
  return `${verb} ${kind} ${formatKey(entry)}`.slice(0, 200);
}
