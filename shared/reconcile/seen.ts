import type { ChildRecord, Seen } from '../queue/work-item.ts';
import type { Observation } from './observe.ts';

/** The states that a run took into account: what later tells echo from news. */
export function seenOf({ object, children }: Observation, inventory: readonly ChildRecord[], before: Seen): Seen {
  const versions: Record<string, string> = { [object.metadata.uid]: object.metadata.resourceVersion };
  for (const child of children) {
    if (child.object !== undefined) versions[child.object.metadata.uid] = child.object.metadata.resourceVersion;
  }
  const gone = inventory.flatMap(({ uid }) => (uid !== null && versions[uid] === undefined ? [uid] : []));
  return {
    generation: object.metadata.generation ?? null,
    versions,
    gone: [...gone, ...before.gone.filter((uid) => !gone.includes(uid))],
  };
}

/** The inventory after a run: every child that exists. */
export function inventoryOf({ children }: Observation): readonly ChildRecord[] {
  return children.flatMap(({ ref, object }) => (object === undefined ? [] : [{ ...ref, uid: object.metadata.uid }]));
}
