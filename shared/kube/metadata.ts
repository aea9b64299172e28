import type { StoredMeta } from './object.ts';

/** `kubectl apply` copies the whole object in here, Secret values included. */
const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

/**
 * The metadata of an object without what must not be held: the copy of the object that `kubectl apply` leaves in an
 * annotation, and `managedFields`, which are half of the bytes and can name the keys of a Secret.
 */
export function withoutSecrets(meta: StoredMeta & { readonly managedFields?: unknown }): StoredMeta {
  const { managedFields: _, annotations, ...kept } = meta;
  if (annotations === undefined) return kept;
  return {
    ...kept,
    annotations: Object.fromEntries(Object.entries(annotations).filter(([name]) => name !== LAST_APPLIED)),
  };
}
