import { WebApp } from '../../functions/controllers/webapp/kind.ts';
import type { KubernetesUser } from '../../shared/adapters/kubernetes/user.ts';
import { isTrue } from '../../shared/kube/conditions.ts';
import type { Kind } from '../../shared/kube/kind.ts';
import type { KubeObject, Stored } from '../../shared/kube/object.ts';
import { until } from './until.ts';

const signal = new AbortController().signal;

/** A user of the cluster: creates and changes WebApps, and looks at what became of them. */
export class WebApps {
  readonly #user: KubernetesUser;
  readonly namespace: string;

  constructor(user: KubernetesUser, namespace = 'default') {
    this.#user = user;
    this.namespace = namespace;
  }

  async apply(name: string, spec: Partial<WebApp['spec']> = {}): Promise<Stored<WebApp>> {
    const webApp: WebApp = {
      apiVersion: 'apps.driftless.dev/v1',
      kind: 'WebApp',
      metadata: { name, namespace: this.namespace },
      spec: { image: 'nginx:1.27', replicas: 1, port: 8080, ...spec },
    };
    return await this.#user.apply(WebApp, webApp, { fieldManager: 'test', force: true, signal });
  }

  get(name: string): Promise<Stored<WebApp> | undefined> {
    return this.child(WebApp, name);
  }

  child<T extends KubeObject>(kind: Kind<T>, name: string): Promise<Stored<T> | undefined> {
    return this.#user.get(kind, { namespace: this.namespace, name }, signal);
  }

  async delete(kind: Kind, name: string): Promise<void> {
    await this.#user.delete(kind, { namespace: this.namespace, name }, signal);
  }

  /** @returns after how many milliseconds the WebApp was Ready in its present generation */
  untilReady(name: string, withinMs = 60_000): Promise<number> {
    const check = async (): Promise<boolean> => {
      const webApp = await this.get(name);
      return isTrue(webApp?.status?.conditions, 'Ready', webApp?.metadata.generation);
    };
    return until(`WebApp ${name} is Ready`, check, { withinMs });
  }
}
