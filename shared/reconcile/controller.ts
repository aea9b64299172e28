import type { ConditionClaim } from '../kube/conditions.ts';
import type { Kind } from '../kube/kind.ts';
import type { KubeObject, ObjectMeta, Stored } from '../kube/object.ts';
import type { Children } from './children.ts';
import { awaitChange, type Result } from './result.ts';

/** Everything a plan may depend on. Reading a clock, a network or an environment instead makes replay impossible. */
export interface PlanInput<T extends KubeObject> {
  readonly object: Stored<T>;
  /** The children as they are now. */
  readonly children: Children;
  /** Epoch milliseconds. */
  readonly now: number;
}

/** A child as it should be. Namespace and owner reference are filled in. */
export interface DesiredChild extends KubeObject {
  readonly metadata: ObjectMeta;
}

export interface Plan {
  readonly children: readonly DesiredChild[];
  /** Merged into the object's status; `conditions` and `observedGeneration` are kept by the runtime. */
  readonly status: Readonly<Record<string, unknown>>;
  readonly conditions: readonly ConditionClaim[];
  readonly result: Result;
}

export interface PlanOptions {
  readonly children?: readonly DesiredChild[];
  readonly status?: Readonly<Record<string, unknown>>;
  readonly conditions?: readonly ConditionClaim[];
  /** @default awaitChange() */
  readonly result?: Result;
}

/** States a plan; what is left out is empty. */
export function plan({ children = [], status = {}, conditions = [], result = awaitChange() }: PlanOptions): Plan {
  return { children, status, conditions, result };
}

export interface ControllerOptions<T extends KubeObject> {
  /** Lower case; stands in messages, field managers and metrics. @default the kind in lower case */
  readonly name?: string;
  readonly kind: Kind<T>;
  /** The kinds of the children that `plan` may return; they are watched, so drift is repaired. */
  readonly owns: readonly Kind[];
  /** Deadline of a whole run in milliseconds. @default 20000 */
  readonly timeoutMs?: number;
  /**
   * Says what should be. Pure: the same input gives the same plan, so a recorded run can be replayed. It is called
   * again after its children were written, with the children as they then are, until nothing is left to write.
   */
  readonly plan: (input: PlanInput<T>) => Plan;
}

/** A controller for objects of any kind, as the runtime holds it. */
export interface Controller {
  readonly name: string;
  readonly kind: Kind;
  readonly owns: readonly Kind[];
  readonly timeoutMs: number;
  readonly plan: (input: PlanInput<KubeObject>) => Plan;
}

/**
 * Declares an operator for one kind.
 *
 * @example
 * export const webApp = defineController({ kind: WebApp, owns: [Deployment, Service], plan: planWebApp });
 */
export function defineController<T extends KubeObject>(options: ControllerOptions<T>): Controller {
  return {
    name: options.name ?? options.kind.kind.toLowerCase(),
    kind: options.kind,
    owns: options.owns,
    timeoutMs: options.timeoutMs ?? 20_000,
    // Sound: the runtime only passes objects that it read as `options.kind`.
    plan: (input) => options.plan(input as PlanInput<T>),
  };
}
