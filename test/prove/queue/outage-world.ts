import { WebApp } from '../../../functions/controllers/webapp/kind.ts';
import { Deployment, Ingress, Service } from '../../../shared/kube/builtin.ts';
import { isTrue } from '../../../shared/kube/conditions.ts';
import type { WorkItem } from '../../../shared/queue/work-item.ts';
import { kubectl } from '../../support/kubectl.ts';
import { until } from '../../support/until.ts';
import type { Proving } from '../shared-stack.ts';

const LOADED = 20;
const CREATED = 10;
const DELETED = 5;
/** Many at once, on a machine that may have other things to do. */
const READY_WITHIN_MS = 180_000;

/** Users of a cluster before, while, and after its operators' store is away, and what must have become of their objects. */
export class OutageWorld {
  readonly #proving: Proving;
  /** Stands in front of every name, so that one world leaves the others alone. */
  readonly #prefix: string;
  /** The image that each object must run in the end; what is not here must not exist. */
  readonly #images = new Map<string, string>();
  #changes = 0;

  constructor(proving: Proving, prefix: string) {
    this.#proving = proving;
    this.#prefix = prefix;
  }

  /** Makes everything, and waits until it is ready; one object is kept from it by a Deployment of somebody else. */
  async prepare(): Promise<void> {
    const { webApps } = this.#proving;
    const single = ['child-edited', 'child-deleted', 'host-dropped'].map((name) => this.#name(name));
    const names = [...this.#loaded(), ...this.#deleted(), ...single];
    await this.#kubectl(['create', 'deployment', this.#name('blocked'), '--image=foreign:1']);
    await this.#apply(this.#name('blocked'));
    await Promise.all(names.map((name) => this.#apply(name)));
    await Promise.all(names.map((name) => webApps.untilReady(name, READY_WITHIN_MS)));
    await until('the blocked one says why', async () => {
      const blocked = await webApps.get(this.#name('blocked'));
      return JSON.stringify(blocked?.status ?? {}).includes('somebody else');
    });
  }

  /** Changes objects without pause until `signal` aborts. */
  async load(signal: AbortSignal): Promise<void> {
    const names = this.#loaded();
    while (!signal.aborted) {
      const name = names[this.#changes % names.length] ?? '';
      await this.#apply(name);
    }
  }

  /** What people do while the store is away. */
  async harm(): Promise<void> {
    const { webApps } = this.#proving;
    await Promise.all(this.#created().map((name) => this.#apply(name)));
    await Promise.all(this.#loaded().map((name) => this.#apply(name)));
    await Promise.all(this.#deleted().map((name) => webApps.delete(WebApp, name)));
    for (const name of this.#deleted()) this.#images.delete(name);
    await this.#kubectl(['scale', 'deployment', this.#name('child-edited'), '--replicas=5']);
    await webApps.delete(Service, this.#name('child-deleted'));
    const dropped = this.#name('host-dropped');
    await webApps.apply(dropped, { image: this.#images.get(dropped) ?? '' });
    // Nobody is rung for this one: it is not the operator's.
    await this.#kubectl(['delete', 'deployment', this.#name('blocked')]);
  }

  /** Something that is not yet as it must be in the end; empty when all is. Asks the cluster last: asking is load. */
  async wrong(items: readonly WorkItem[]): Promise<readonly string[]> {
    for (const look of [() => this.#wrongItems(items), () => this.#wrongObjects(), () => this.#wrongChildren()]) {
      const wrong = await look();
      if (wrong.length > 0) return wrong;
    }
    return [];
  }

  async #wrongObjects(): Promise<readonly string[]> {
    const { webApps } = this.#proving;
    const checks = [...this.#images].map(async ([name, image]) => {
      const [webApp, deployment, service] = await Promise.all([
        webApps.get(name),
        webApps.child(Deployment, name),
        webApps.child(Service, name),
      ]);
      const has = deployment?.spec?.template.spec?.containers[0]?.image;
      const problems = [
        has === image ? [] : [`runs ${has} instead of ${image}`],
        deployment?.spec?.replicas === 1 ? [] : [`has ${deployment?.spec?.replicas} replicas`],
        service === undefined ? ['has no Service'] : [],
        isTrue(webApp?.status?.conditions, 'Ready', webApp?.metadata.generation)
          ? []
          : [`is not Ready: ${JSON.stringify([webApp?.metadata.generation, webApp?.status, deployment?.status])}`],
      ];
      return problems.flat().map((problem) => `${name} ${problem}`);
    });
    return (await Promise.all(checks)).flat();
  }

  /** Children without an object that wants them. */
  async #wrongChildren(): Promise<readonly string[]> {
    const wanted = (kind: string, name: string): boolean =>
      this.#images.has(name) && (kind !== Ingress.kind || name !== this.#name('host-dropped'));
    const listed = await this.#kubectl([
      'get',
      'webapp,deployment,service,ingress',
      '--no-headers',
      '-o',
      KIND_AND_NAME,
    ]);
    return listed
      .split('\n')
      .map((line) => line.split(/ +/))
      .filter(([kind = '', name = '']) => name.startsWith(`${this.#prefix}-`) && !wanted(kind, name))
      .map(([kind, name]) => `${kind} ${name} is an orphan`);
  }

  #wrongItems(items: readonly WorkItem[]): readonly string[] {
    const mine = items.filter(({ key }) => key.name.startsWith(`${this.#prefix}-`));
    const busy = mine.filter(({ lease, alarm, dirty }) => lease !== null || alarm !== null || dirty.kind !== 'clean');
    const unknown = mine.filter(({ key }) => !this.#images.has(key.name));
    return [
      ...busy.map(
        ({ key, alarm, lastError }) =>
          `the item of ${key.name} is not idle (${alarm?.reason ?? 'no alarm'}, ${lastError?.message ?? 'no error'})`,
      ),
      ...unknown.map(({ key }) => `${key.name} has an item, and is gone`),
      ...(mine.length - unknown.length === this.#images.size ? [] : ['items are missing']),
    ];
  }

  /** Objects that were looked at, with those that must be gone. */
  get size(): number {
    return this.#images.size + DELETED;
  }

  async #apply(name: string): Promise<void> {
    this.#changes += 1;
    const image = `nginx:${this.#changes}`;
    this.#images.set(name, image);
    await this.#proving.webApps.apply(name, { image, host: `${name}.example.com` });
  }

  async #kubectl(args: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await kubectl(this.#proving.stack.controlPlane.kubeconfig, args);
    if (code !== 0) throw new Error(`kubectl ${args.join(' ')}: ${stderr}`);
    return stdout;
  }

  #names(name: string, count: number): readonly string[] {
    return Array.from({ length: count }, (_, n) => this.#name(`${name}-${n}`));
  }

  #name(name: string): string {
    return `${this.#prefix}-${name}`;
  }

  #loaded(): readonly string[] {
    return this.#names('loaded', LOADED);
  }

  #created(): readonly string[] {
    return this.#names('created', CREATED);
  }

  #deleted(): readonly string[] {
    return this.#names('deleted', DELETED);
  }
}

const KIND_AND_NAME = 'custom-columns=KIND:.kind,NAME:.metadata.name';
