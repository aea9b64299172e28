/**
 * The guards of the protocol that a mutation can take away. What is not taken away is the product's own rule, called
 * as the product calls it; a mutation doctors what goes into the rule, or what is made of its answer.
 */
export type Guard =
  /** A swap is refused when the item moved since it was read. */
  | 'compare-and-swap'
  /** A write that changes nothing still gives the item a new revision. */
  | 'nonce'
  /** What the holder knows already is not stored again. */
  | 'known dirt is not stored'
  /** `complete` changes nothing unless the item is held under the run's own token. */
  | 'token check at complete'
  /** News for a held item is stored before it is acknowledged. */
  | 'dirty before ack'
  /** A worker that finds its lease lost does not acknowledge. */
  | 'no ack without lease'
  /** The redelivery of the message that the holder works for is not acknowledged. */
  | 'no ack of a redelivery'
  /** What was seen is remembered per object, not as one maximum. */
  | 'seen per object'
  /** A status write names the resourceVersion that was read. */
  | 'resourceVersion in status'
  /** A write of the child names the resourceVersion that was read. */
  | 'resourceVersion in child'
  /** A create is refused when the child exists. */
  | 'no create of what exists'
  /** Leases are judged by the store's time, not by the worker's. */
  | 'store time'
  /** Somebody rings the alarms that are due. */
  | 'alarms'
  /** A child is recorded before it is created. */
  | 'intent before create'
  /** Who takes a lease over marks the children that whoever lost it may still create. */
  | 'children in doubt'
  /** A rerun gets a token of its own. */
  | 'token per rerun'
  /**
   * Not a guard but a shortcut of the explorer: read, decide and swap are one step. With compare-and-swap that loses
   * nothing, since a swap that is lost leaves nothing behind, and the next one starts from a new read.
   */
  | 'swap in one step';

export type Without = ReadonlySet<Guard>;

/** Every guard in place: the protocol as it is. */
export const NOTHING_MISSING: Without = new Set();
