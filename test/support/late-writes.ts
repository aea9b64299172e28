import type { AcceptedWrite } from './audit-log.ts';
import type { LoggedClaim } from './logged-claims.ts';

/** What the writes of a history say about its claims. */
export interface Verdict {
  /** Writes that were accepted after one to the same object under a later claim: what must never be. */
  readonly overwrites: readonly string[];
  /** Writes that were accepted although the item had been claimed by somebody else before, and how long before. */
  readonly afterSteal: readonly { readonly write: string; readonly ms: number }[];
  /** Writes that no claim is known for: about them nothing is said. */
  readonly unknown: readonly string[];
}

/**
 * Holds accepted writes against the claims under which they were made.
 *
 * The order of two writes to an object is that of the versions they left; where one of them was a deletion, which leaves
 * none, that of their times, and only if they did not overlap.
 */
export function judge(writes: readonly AcceptedWrite[], claims: readonly LoggedClaim[]): Verdict {
  const byHolder = new Map(claims.map((claim) => [claim.holderIdentity, claim]));
  const claimed = writes.flatMap((write) => {
    const claim = byHolder.get(write.holderIdentity ?? '');
    return claim === undefined ? [] : [{ write, claim }];
  });
  const byItem = Map.groupBy(claims, ({ item }) => item);
  return {
    overwrites: [...Map.groupBy(claimed, ({ write }) => write.object).values()].flatMap(overwritesAmong),
    afterSteal: claimed.flatMap(({ write, claim }) => {
      const thief = successorOf(claim, byItem.get(claim.item) ?? []);
      const ms = write.receivedAt - (thief?.at ?? Number.POSITIVE_INFINITY);
      return ms > 0 ? [{ write: describe(write, claim), ms }] : [];
    }),
    unknown: writes.filter(({ holderIdentity = '' }) => !byHolder.has(holderIdentity)).map(({ object }) => object),
  };
}

interface ClaimedWrite {
  readonly write: AcceptedWrite;
  readonly claim: LoggedClaim;
}

function overwritesAmong(writes: readonly ClaimedWrite[]): readonly string[] {
  return writes.flatMap(({ write, claim }) => {
    const newer = writes.find((other) => other.claim.token > claim.token && isAfter(write, other.write));
    if (newer === undefined) return [];
    return [`${describe(write, claim)} came after ${describe(newer.write, newer.claim)}`];
  });
}

function isAfter(a: AcceptedWrite, b: AcceptedWrite): boolean {
  if (a.version !== undefined && b.version !== undefined) return a.version > b.version;
  return a.receivedAt > b.completedAt;
}

function successorOf({ token }: LoggedClaim, claims: readonly LoggedClaim[]): LoggedClaim | undefined {
  return claims.filter((other) => other.token > token).sort((a, b) => a.token - b.token)[0];
}

function describe({ object, receivedAt, version }: AcceptedWrite, { token, holderIdentity }: LoggedClaim): string {
  const left = version === undefined ? 'deleted it' : `version ${version}`;
  return `${object} (${left}, ${new Date(receivedAt).toISOString()}, token ${token} of ${holderIdentity})`;
}
