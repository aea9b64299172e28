import { TransientError } from '../errors.ts';
import { formatRef, type ObjectRef } from '../kube/key.ts';
import { controllerOf, type KubeObject, type Stored } from '../kube/object.ts';
import type { Desired } from './desired.ts';
import { diff, type FieldChange } from './diff.ts';
import { givenUp } from './given-up.ts';

/** What has to be written so that the children are as desired. */
export type Change =
  | { readonly kind: 'create'; readonly desired: Desired }
  | {
      readonly kind: 'configure';
      readonly desired: Desired;
      readonly observed: Stored;
      readonly fields: readonly FieldChange[];
    }
  | { readonly kind: 'delete'; readonly ref: ObjectRef; readonly observed: Stored };

/** A child as observed; undefined when it does not exist. */
export interface ObservedChild {
  readonly ref: ObjectRef;
  readonly object: Stored | undefined;
}

/**
 * The difference between desired and observed children; empty when there is nothing to write.
 *
 * Observed children that nobody desires any more are deleted, but only when they are the owner's, and we made them: that
 * somebody else's object names it as its controller does not make it ours.
 *
 * @throws {TransientError} CHILD_NOT_OWNED when an object with a child's name belongs to somebody else
 */
export function changesOf(
  owner: Stored,
  desired: readonly Desired[],
  observed: readonly ObservedChild[],
  fieldManager: string,
): readonly Change[] {
  const existing = new Map(observed.map(({ ref, object }) => [formatRef(ref), object]));
  const wanted = new Set(desired.map(({ ref }) => formatRef(ref)));
  return [
    ...desired.flatMap((child) => changeOf(owner, child, existing.get(formatRef(child.ref)), fieldManager)),
    ...observed.flatMap(({ ref, object }) =>
      object !== undefined &&
      !wanted.has(formatRef(ref)) &&
      isOwned(owner, object, fieldManager) &&
      managersOf(object).includes(fieldManager) &&
      !isLeaving(object)
        ? [{ kind: 'delete' as const, ref, observed: object }]
        : [],
    ),
  ];
}

function changeOf(owner: Stored, desired: Desired, observed: Stored | undefined, fieldManager: string): Change[] {
  if (observed === undefined) return [{ kind: 'create', desired }];
  if (!isOwned(owner, observed, fieldManager)) {
    const other = controllerOf(observed.metadata);
    throw new TransientError(
      'CHILD_NOT_OWNED',
      `${formatRef(desired.ref)} exists and ${other === undefined ? 'was made by somebody else' : `belongs to ${other.kind} ${other.name}`}: delete it or choose another name`,
    );
  }
  // Nothing that is written to an object on its way out stays; its end is news, and then it is created again.
  if (isLeaving(observed)) return [];
  const fields = [...diff(desired.object, observed), ...givenUp(desired.object, observed, fieldManager)];
  return fields.length === 0 ? [] : [{ kind: 'configure', desired, observed, fields }];
}

/** The owner's by reference, or made by us and stripped of its reference by hand. */
function isOwned(owner: Stored, object: Stored, fieldManager: string): boolean {
  const controller = controllerOf(object.metadata);
  if (controller !== undefined) return controller.uid === owner.metadata.uid;
  return managersOf(object).includes(fieldManager);
}

function isLeaving(object: Stored): boolean {
  return object.metadata.deletionTimestamp !== undefined;
}

function managersOf(object: KubeObject): readonly (string | undefined)[] {
  return (object.metadata.managedFields ?? []).map((entry) => entry.manager);
}
