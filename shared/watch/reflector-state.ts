import { isNotNewer } from '../kube/version.ts';

/**
 * List, then watch, for ever: the table of one kind's reflector. Pure; `reflector.ts` does what each phase names.
 *
 *              listed                    ended after a while
 *   listing ───────────▶ watching(version) ─────────────▶ watching(same version)
 *    ▲  ▲ │ failed          │ failed, expired, ended at once
 *    │  │ ▼                 ▼                                        checked: not of the future
 *    │  └─ backingOff(attempt, resume point) ──waited──▶ checking(resume point) ──▶ watching(resume point)
 *    └─ 422: by pages from now on                          └─ of the future: listing
 *
 * No phase is final and no input leads out of the table, so a kind never stops silently. The numbers are those of
 * client-go's reflector (tools/cache/reflector.go).
 */
export type ReflectorState = Listing | Checking | Watching | BackingOff;

export interface Listing extends Health {
  readonly phase: 'listing';
}

/**
 * Asks for the store's version before it resumes. A store that was restored from a backup knows nothing of a later
 * resume point; a watch from there is not refused but swallows what happens until the store has got there again.
 */
export interface Checking extends Health {
  readonly phase: 'checking';
  readonly resumeFrom: string;
}

export interface Watching extends Health {
  readonly phase: 'watching';
  /** What a new stream would resume from. Grows with events and bookmarks, never within a list. */
  readonly resourceVersion: string;
  readonly openedAtMs: number;
  readonly heard: 'nothing' | 'bookmark' | 'event';
}

export interface BackingOff extends Health {
  readonly phase: 'backingOff';
  readonly delayMs: number;
  /** Where to resume, or undefined to list again. */
  readonly resumeFrom: string | undefined;
}

export interface Health {
  /** One stream that begins with what exists (KEP-3157), or pages where the server does not offer that. */
  readonly listBy: 'stream' | 'pages';
  /** Failures since it was last healthy for `HEALTHY_MS`. */
  readonly attempt: number;
  /** Since when it has been listing and watching without a failure. */
  readonly healthySinceMs: number | undefined;
}

export type ReflectorInput =
  /** The list is complete: the bookmark that ends the initial events, or the last page. */
  | { readonly kind: 'listed'; readonly resourceVersion: string }
  /** `resourceVersion` of an object that was added, modified or deleted; within a list, of one that exists. */
  | { readonly kind: 'event'; readonly resourceVersion: string }
  | { readonly kind: 'bookmark'; readonly resourceVersion: string }
  /** The server closed the stream without an error. */
  | { readonly kind: 'ended' }
  /** 410: the server no longer knows what happened since the resourceVersion. */
  | { readonly kind: 'expired' }
  /** 404: there is no such kind (yet). */
  | { readonly kind: 'absent' }
  /** 422 for a list by stream. */
  | { readonly kind: 'unsupported' }
  /** Anything else that went wrong; `retryAfterMs` if the server said when to come back. */
  | { readonly kind: 'failed'; readonly retryAfterMs?: number }
  /** What was handed on is unknown, so nothing counts as known any more. */
  | { readonly kind: 'distrusted' }
  /** The delay of `backingOff` is over. */
  | { readonly kind: 'waited' }
  /** The version that the store is at. */
  | { readonly kind: 'checked'; readonly resourceVersion: string }
  /** Somebody needs to know every object of the kind. */
  | { readonly kind: 'asked' };

/** The moment of an input: monotonic time, and chance for the jitter (uniform in [0, 1)). */
export interface Moment {
  readonly nowMs: number;
  readonly fraction: number;
}

export const INITIAL: ReflectorState = { phase: 'listing', listBy: 'stream', attempt: 0, healthySinceMs: undefined };

/** Where a process begins that knows how far the one before it had got. */
export function resuming(resumeFrom: string): ReflectorState {
  return { ...healthOf(INITIAL), phase: 'checking', resumeFrom };
}

/** Once healthy for this long, the next failure is a first one again. */
const HEALTHY_MS = 120_000;

/** A stream that ends sooner, and without an event, is a failure: reopening it at once would be a tight loop. */
const VERY_SHORT_MS = 1_000;

/**
 * Idle streams get a bookmark every minute, so one that was open for longer and heard nothing has a bad resume point:
 * one of the future, which was not when it was checked.
 */
const SILENT_MS = 60_000;

/** After so many failures in a row a resume point that was never answered is given up for a list. */
const RESUME_ATTEMPTS = 5;

const FIRST_DELAY_MS = 1_600;
const MAX_DELAY_MS = 30_000;

/** However long the server asks to stay away: a kind that is not watched for longer than this is an outage. */
const MAX_RETRY_AFTER_MS = 120_000;

export function next(state: ReflectorState, input: ReflectorInput, moment: Moment): ReflectorState {
  switch (input.kind) {
    case 'listed':
      return watch({ ...state, healthySinceMs: state.healthySinceMs ?? moment.nowMs }, input.resourceVersion, moment);
    case 'event':
    case 'bookmark':
      return heard(state, input, moment);
    case 'ended':
      return ended(state, moment);
    case 'expired':
      return expired(state, moment);
    case 'absent':
      // The server is well, so this is no failure; asking is cheap, and the kind's user waits for it.
      return { ...backOff(state, undefined, moment), attempt: 0, delayMs: backoffMs(2, moment.fraction) };
    case 'unsupported':
      if (state.listBy === 'pages') return backOff(state, undefined, moment);
      return { ...healthOf(state), phase: 'listing', listBy: 'pages' };
    case 'failed':
      return notBefore(backOff(state, resumePoint(state, moment), moment), input.retryAfterMs, moment);
    case 'distrusted':
      return backOff(state, undefined, moment);
    case 'waited':
      if (state.phase !== 'backingOff') return state;
      if (state.resumeFrom === undefined) return { ...healthOf(state), phase: 'listing' };
      return { ...healthOf(state), phase: 'checking', resumeFrom: state.resumeFrom };
    case 'checked':
      if (state.phase !== 'checking') return state;
      return isNotNewer(state.resumeFrom, input.resourceVersion)
        ? watch(state, state.resumeFrom, moment)
        : { ...healthOf(state), phase: 'listing' };
    case 'asked':
      return state.phase === 'listing' ? state : { ...healthOf(state), phase: 'listing' };
  }
}

/**
 * Exponential with equal jitter: 0.8–1.6 s for the first attempt, doubling up to 15–30 s. Never ends.
 *
 * @param attempt from 1
 * @param fraction uniform in [0, 1)
 */
export function backoffMs(attempt: number, fraction: number): number {
  const full = Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** (attempt - 1));
  return (full / 2) * (1 + fraction);
}

function watch(health: Health, resourceVersion: string, { nowMs }: Moment): Watching {
  return { ...healthOf(health), phase: 'watching', resourceVersion, openedAtMs: nowMs, heard: 'nothing' };
}

function heard(
  state: ReflectorState,
  { kind, resourceVersion }: { readonly kind: 'event' | 'bookmark'; readonly resourceVersion: string },
  { nowMs }: Moment,
): ReflectorState {
  // The ADDED events of a list come in no order: resuming from one of their versions would skip objects.
  if (state.phase !== 'watching') return state;
  return {
    ...state,
    resourceVersion: isNotNewer(resourceVersion, state.resourceVersion) ? state.resourceVersion : resourceVersion,
    heard: state.heard === 'event' ? 'event' : kind,
    healthySinceMs: state.healthySinceMs ?? nowMs,
  };
}

function ended(state: ReflectorState, moment: Moment): ReflectorState {
  if (state.phase !== 'watching') return backOff(state, undefined, moment);
  const tooShort = moment.nowMs - state.openedAtMs < VERY_SHORT_MS && state.heard !== 'event';
  if (tooShort || isSilent(state, moment)) return backOff(state, resumePoint(state, moment), moment);
  return watch(state, state.resourceVersion, moment);
}

/**
 * With backoff, so that a server which answers each list with a version that it refuses then is not flooded. But that
 * a version expired while the server was away is an answer, no failure: it is back.
 */
function expired(state: ReflectorState, moment: Moment): BackingOff {
  const isAnswer = state.phase === 'watching' && state.healthySinceMs === undefined;
  if (!isAnswer) return backOff(state, undefined, moment);
  return { ...backOff(state, undefined, moment), attempt: state.attempt, delayMs: backoffMs(1, moment.fraction) };
}

function resumePoint(state: ReflectorState, moment: Moment): string | undefined {
  switch (state.phase) {
    case 'listing':
      return undefined;
    case 'backingOff':
    case 'checking':
      return state.resumeFrom;
    case 'watching': {
      const unanswered = state.heard === 'nothing' && state.attempt >= RESUME_ATTEMPTS;
      return unanswered || isSilent(state, moment) ? undefined : state.resourceVersion;
    }
  }
}

function isSilent(state: Watching, { nowMs }: Moment): boolean {
  return state.heard === 'nothing' && nowMs - state.openedAtMs >= SILENT_MS;
}

function backOff(state: ReflectorState, resumeFrom: string | undefined, { nowMs, fraction }: Moment): BackingOff {
  const healthy = state.healthySinceMs !== undefined && nowMs - state.healthySinceMs >= HEALTHY_MS;
  const attempt = healthy ? 1 : state.attempt + 1;
  return {
    phase: 'backingOff',
    listBy: state.listBy,
    attempt,
    healthySinceMs: undefined,
    delayMs: backoffMs(attempt, fraction),
    resumeFrom,
  };
}

/** The server's word wins over our backoff, spread a little so that not everybody returns in the same instant. */
function notBefore(state: BackingOff, retryAfterMs: number | undefined, { fraction }: Moment): BackingOff {
  if (retryAfterMs === undefined) return state;
  return { ...state, delayMs: Math.min(retryAfterMs, MAX_RETRY_AFTER_MS) + backoffMs(1, fraction) };
}

function healthOf({ listBy, attempt, healthySinceMs }: Health): Health {
  return { listBy, attempt, healthySinceMs };
}
