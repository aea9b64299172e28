import { OperatorError } from '../errors.ts';
import { formatRef, type ObjectRef } from '../kube/key.ts';
import type { Clock } from '../ports/clock.ts';
import type { FieldChange } from './diff.ts';

export type WriteVerb = 'create' | 'apply' | 'delete' | 'status';

/** One write of a run, as people and `explain` see it. */
export interface WriteRecord {
  readonly verb: WriteVerb;
  /** `Deployment.apps default/web` */
  readonly object: string;
  readonly fields: readonly FieldChange[];
  readonly durationMs: number;
  /** The code of the error that refused it. */
  readonly error?: string;
}

/** Remembers what a run wrote and how long its stages took, for the one record that a run leaves. */
export class Journal {
  readonly #clock: Clock;
  readonly #writes: WriteRecord[] = [];
  readonly #stages: Record<string, number> = {};

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get writes(): readonly WriteRecord[] {
    return this.#writes;
  }

  /** Milliseconds per stage, summed over the rounds of the run. */
  get stages(): Readonly<Record<string, number>> {
    return this.#stages;
  }

  /** Runs one stage of the pipeline and adds up its time. */
  async stage<T>(name: string, run: () => Promise<T>): Promise<T> {
    const start = this.#clock.monotonic();
    try {
      return await run();
    } finally {
      this.#stages[name] = (this.#stages[name] ?? 0) + this.#since(start);
    }
  }

  /** Performs one write and records it, whether it succeeds or not. */
  async write<T>(verb: WriteVerb, ref: ObjectRef, fields: readonly FieldChange[], call: () => Promise<T>): Promise<T> {
    const start = this.#clock.monotonic();
    const record = { verb, object: formatRef(ref), fields: fields.map((field) => presentable(ref, field)) };
    try {
      const result = await call();
      this.#writes.push({ ...record, durationMs: this.#since(start) });
      return result;
    } catch (error) {
      const code = error instanceof OperatorError ? error.code : 'UNKNOWN';
      this.#writes.push({ ...record, durationMs: this.#since(start), error: code });
      throw error;
    }
  }

  #since(start: number): number {
    return Math.round((this.#clock.monotonic() - start) * 10) / 10;
  }
}

const LONGEST = 200;

/** A change that may be logged: values of Secrets never, long values in short. */
function presentable({ group, kind }: ObjectRef, { path, have, want }: FieldChange): FieldChange {
  const secret = group === '' && kind === 'Secret' && !path.startsWith('metadata.');
  const show = (value: unknown): unknown => (secret ? '(secret)' : shorten(value));
  return { path, have: show(have), want: show(want) };
}

function shorten(value: unknown): unknown {
  if (typeof value !== 'string' && (typeof value !== 'object' || value === null)) return value;
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length <= LONGEST ? text : `${text.slice(0, LONGEST)}…`;
}
