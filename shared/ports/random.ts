/** Chance, so that rules and pipelines can be replayed. */
export interface Random {
  /** Uniform in [0, 1). */
  fraction(): number;
  /** An identifier that no other call on any machine returns. */
  id(): string;
}
