import { setTimeout as sleep } from 'node:timers/promises';
import { WebApp } from '../../../../functions/controllers/webapp/kind.ts';
import type { KubernetesUser } from '../../../../shared/adapters/kubernetes/user.ts';
import { ConflictError } from '../../../../shared/errors.ts';
import { isNotFound } from '../../../../shared/kube/api-error.ts';
import { Deployment, Ingress, Service } from '../../../../shared/kube/builtin.ts';
import { apiVersionOf, type Kind } from '../../../../shared/kube/kind.ts';
import type { KubeObject } from '../../../../shared/kube/object.ts';
import { Seeded } from '../../../support/seeded.ts';
import type { WebApps } from '../../../support/web-apps.ts';

export type Spec = WebApp['spec'];

const USERS = 4;
const OBJECTS_EACH = 12;
const NEVER = new AbortController().signal;

/**
 * People who use the cluster: each has some WebApps, changes their specs, creates and deletes them, and edits and
 * deletes their children by hand. What they choose depends on the seed, and not on how fast the cluster is.
 */
export class Load {
  readonly #webApps: WebApps;
  readonly #person: KubernetesUser;
  readonly #wanted = new Map<string, Spec | undefined>();
  readonly #done = new Map<string, number>();

  constructor(webApps: WebApps, person: KubernetesUser) {
    this.#webApps = webApps;
    this.#person = person;
  }

  /** The spec that each WebApp should have; undefined where there should be none. */
  get wanted(): ReadonlyMap<string, Spec | undefined> {
    return this.#wanted;
  }

  /** How often what was done. */
  get done(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#done);
  }

  /** Creates all WebApps. */
  async begin(seed: number): Promise<void> {
    await Promise.all(users(seed).flatMap(({ names, random }) => names.map((name) => this.#apply(name, random))));
  }

  /** Goes on until `signal` aborts. */
  async run(seed: number, signal: AbortSignal): Promise<void> {
    await Promise.all(users(seed + 1).map((user) => this.#use(user, signal)));
  }

  async #use({ names, random }: User, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const name = random.oneOf(names);
      const what = this.#wanted.get(name) === undefined ? 'created' : random.oneOf(DEEDS);
      try {
        await this.#do(what, name, random);
        this.#done.set(what, (this.#done.get(what) ?? 0) + 1);
      } catch (error) {
        // A child that was changed or replaced just then: a person would shrug.
        if (!(error instanceof ConflictError) && !isNotFound(error)) throw error;
      }
      await sleep(random.between(500, 1_500), undefined, { signal }).catch(() => undefined);
    }
  }

  async #do(what: Deed | 'created', name: string, random: Seeded): Promise<void> {
    const child = random.oneOf(CHILDREN);
    switch (what) {
      case 'created':
      case 'changed':
        return await this.#apply(name, random);
      case 'deleted':
        this.#wanted.set(name, undefined);
        return await this.#webApps.delete(WebApp, name);
      case 'child edited':
        return await this.#edit(child, name);
      case 'child deleted':
        return await this.#webApps.delete(child, name);
    }
  }

  async #apply(name: string, random: Seeded): Promise<void> {
    const number = random.whole(1, 999);
    const spec: Spec = {
      image: `nginx:1.${number}`,
      replicas: random.whole(1, 2),
      port: 8_000 + number,
      ...(random.fraction() < 0.6 ? { host: `${name}-${number}.example.com` } : {}),
    };
    // An apply takes away what it does not name, such as the host.
    await this.#webApps.apply(name, spec);
    this.#wanted.set(name, spec);
  }

  /** Scales a Deployment and takes a label of others, as `kubectl` would. */
  async #edit(kind: Kind, name: string): Promise<void> {
    const found = await this.#webApps.child(kind, name);
    if (found === undefined) return;
    const { namespace = '', uid } = found.metadata;
    const object: KubeObject = {
      apiVersion: apiVersionOf(kind),
      kind: kind.kind,
      metadata: { namespace, name, uid, ...(kind === Deployment ? {} : { labels: { [LABEL]: 'somebody' } }) },
      ...(kind === Deployment ? { spec: { replicas: 5 } } : {}),
    };
    await this.#person.apply(kind, object, { fieldManager: 'kubectl-edit', force: true, signal: NEVER });
  }
}

/** The label that a hand-made edit takes, and that must be as it was at the end. */
export const LABEL = 'app.kubernetes.io/managed-by';

const CHILDREN: readonly Kind[] = [Deployment, Service, Ingress];

type Deed = 'changed' | 'deleted' | 'child edited' | 'child deleted';

const DEEDS: readonly Deed[] = [
  'changed',
  'changed',
  'changed',
  'deleted',
  'child edited',
  'child edited',
  'child deleted',
  'child deleted',
];

interface User {
  readonly names: readonly string[];
  readonly random: Seeded;
}

function users(seed: number): readonly User[] {
  return Array.from({ length: USERS }, (_, user) => ({
    names: Array.from({ length: OBJECTS_EACH }, (_, i) => `web-${user}-${i}`),
    random: new Seeded(seed * 1_000 + user),
  }));
}
