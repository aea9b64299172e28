/** What should happen after a plan was carried out. */
export type Result =
  /** Nothing until the object, a child or a related object changes. */
  | { readonly kind: 'awaitChange' }
  /** Look again after `delayMs`, or earlier when something changes. Survives every process: it becomes an alarm. */
  | { readonly kind: 'requeueAfter'; readonly delayMs: number };

export function awaitChange(): Result {
  return { kind: 'awaitChange' };
}

/** @param delayMs milliseconds, positive */
export function requeueAfter(delayMs: number): Result {
  if (!(delayMs > 0)) throw new RangeError(`cannot requeue after ${delayMs} ms: the delay must be positive`);
  return { kind: 'requeueAfter', delayMs };
}
