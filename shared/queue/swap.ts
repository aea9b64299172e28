import { TransientError } from '../errors.ts';
import type { Clock } from '../ports/clock.ts';
import type { Random } from '../ports/random.ts';
import type { ReadItem, Revision, WorkStore } from '../ports/work-store.ts';
import { formatItemKey, type ItemKey, type WorkItem } from './work-item.ts';

export interface Reading extends ReadItem {
  /** Monotonic milliseconds just before the read was sent: no later than the store's `nowMs`, on our own clock. */
  readonly sentAt: number;
  /** Where it comes from. What this process stored last may have changed since; then a swap loses. */
  readonly from: 'store' | 'memory';
}

/** A write that was stored. */
export interface Written {
  readonly revision: Revision;
  /** The store's time of the write. */
  readonly nowMs: number;
  /** Monotonic milliseconds just before the write was sent. */
  readonly sentAt: number;
}

/** What a rule made of a reading. */
export type Step<T> =
  | { readonly kind: 'keep'; readonly value: T }
  | WriteStep<T>
  | { readonly kind: 'remove'; readonly value: T }
  /** A reading from memory is not enough for this: ask the store. */
  | { readonly kind: 'unsure' };

export interface WriteStep<T> {
  readonly kind: 'write';
  readonly item: WorkItem;
  /** What must have been done when the item is stored; it does no harm if the swap is lost then. */
  readonly before?: (signal: AbortSignal) => Promise<void>;
  readonly stored: (written: Written) => T;
}

export interface SwapContext {
  readonly store: WorkStore;
  readonly clock: Clock;
  readonly random: Random;
}

const MAX_ATTEMPTS = 10;
const FIRST_PAUSE_MS = 2;
const LONGEST_PAUSE_MS = 100;

/**
 * Reads an item, decides, and swaps; whoever loses the race reads and decides again.
 *
 * `decide` is called once per reading and must be pure: a lost race throws its decision away. What is `known` of the item
 * saves the first read: if it is true no longer, the swap loses.
 *
 * @throws {TransientError} `CONTENDED` after losing ten races in a row; the message comes again
 */
export async function decideAndSwap<T>(
  key: ItemKey,
  decide: (reading: Reading) => Step<T>,
  { store, clock, random }: SwapContext,
  signal: AbortSignal,
  known?: Reading,
): Promise<T> {
  let step: Step<T> = known === undefined ? { kind: 'unsure' } : decide(known);
  let reading = known;
  for (let lost = 0; lost < MAX_ATTEMPTS; lost += 1) {
    if (lost > 0) {
      // Memory was only old; a race that was lost to somebody else will be run again.
      if (reading?.from === 'store') {
        await clock.sleep(random.fraction() * Math.min(FIRST_PAUSE_MS * 2 ** lost, LONGEST_PAUSE_MS), signal);
      }
      step = { kind: 'unsure' };
    }
    if (step.kind === 'unsure') {
      reading = await read(key, { store, clock }, signal);
      step = decide(reading);
    }
    switch (step.kind) {
      case 'keep':
        return step.value;
      case 'write': {
        await step.before?.(signal);
        const sentAt = clock.monotonic();
        const swap = await store.write(step.item, reading?.revision, signal);
        if (swap.kind === 'stored') return step.stored({ ...swap, sentAt });
        break;
      }
      case 'remove': {
        if (reading?.revision === undefined) return step.value;
        if ((await store.remove(key, reading.revision, signal)) === 'stored') return step.value;
        break;
      }
      case 'unsure':
        throw new Error(`the store's own reading of ${formatItemKey(key)} was not enough to decide`);
    }
  }
  throw new TransientError('CONTENDED', `cannot change ${formatItemKey(key)}: lost ${MAX_ATTEMPTS} races in a row`);
}

async function read(
  key: ItemKey,
  { store, clock }: Omit<SwapContext, 'random'>,
  signal: AbortSignal,
): Promise<Reading> {
  const sentAt = clock.monotonic();
  return { ...(await store.read(key, signal)), sentAt, from: 'store' };
}
