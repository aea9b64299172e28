import { apiVersionOf, type Kind } from '../kube/kind.ts';
import type { KubeObject, Stored } from '../kube/object.ts';

/** The observed children of one object. */
export class Children {
  readonly #objects: readonly Stored[];

  constructor(objects: readonly Stored[]) {
    this.#objects = objects;
  }

  /** The child of this kind and name, or undefined when it does not exist (yet). */
  get<T extends KubeObject>(kind: Kind<T>, name: string): Stored<T> | undefined {
    const found = this.#objects.find(
      (o) => o.kind === kind.kind && o.apiVersion === apiVersionOf(kind) && o.metadata.name === name,
    );
    return found as Stored<T> | undefined;
  }

  all(): readonly Stored[] {
    return this.#objects;
  }
}
