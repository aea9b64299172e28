/** Keeps those out of a cluster whose lease was taken over: whatever they have sent, or will send, is refused. */
export interface Fence {
  /**
   * From soon after this has resolved, a few milliseconds with one API server, no write of these holders is accepted.
   * The latest holders are remembered, four hundred at least; a name never comes back, so nothing is lost by keeping it.
   *
   * Errors: as for a `ClusterSession`.
   */
  add(holders: readonly string[], signal: AbortSignal): Promise<void>;
}
