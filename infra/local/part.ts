/** One process of the local stack, as data: how to start it, and how to know that it is ready. */
export interface Part {
  /** Short and unique: `etcd`, `forwarder`. Stands in front of its log lines and names its log file. */
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  /** The whole environment besides PATH and HOME; nothing else is inherited, so a cloud credential cannot leak in. */
  readonly env?: Readonly<Record<string, string>>;
  /** Resolves when the part serves. Polled by the part itself; the supervisor aborts `signal` if the process ends. */
  readonly ready: (signal: AbortSignal) => Promise<void>;
  /** How long it usually takes to be ready, for the progress line. */
  readonly usuallyMs: number;
  /**
   * What happens when the process ends by itself: `restart` as a cluster or platform would, or `fail` the stack,
   * because nothing works without it.
   */
  readonly whenItEnds: 'restart' | 'fail';
}
