/** What a claim was found to be, in one short phrase with its figures. */
export interface Measured {
  readonly measured: string;
  readonly ok: boolean;
}

/** One promise of the product, and how to find out whether it holds: on real parts, each time anew. */
export interface Claim {
  /** kebab-case, stable. */
  readonly id: string;
  readonly text: string;
  /** What must at least be measured. */
  readonly floor: string;
  readonly run: (context: ProveContext) => Promise<Measured>;
}

export interface ProveContext {
  /** Shows what is being done. */
  readonly say: (text: string) => void;
  readonly signal: AbortSignal;
}

/** What `--json FILE` holds. */
export interface ProvenClaim extends Measured {
  readonly id: string;
  readonly text: string;
  readonly floor: string;
}

/** An area's claims, and how to end what they shared. */
export interface Area {
  readonly claims: readonly Claim[];
  readonly close: () => Promise<void>;
}
