import assert from 'node:assert/strict';
import { after, before, describe, it, type TestContext } from 'node:test';
import { ConflictError, LeaseLostError } from '../../shared/errors.ts';
import { ApiError, FieldConflictError } from '../../shared/kube/api-error.ts';
import type { ObjectKey } from '../../shared/kube/key.ts';
import type { Kind } from '../../shared/kube/kind.ts';
import type { KubeObject, ObjectMeta, Stored } from '../../shared/kube/object.ts';
import type { ApplyOptions, Cluster, ClusterSession } from '../../shared/ports/cluster.ts';
import { put, sessionOf } from '../support/session.ts';

/** A cluster to test, with what a test needs beside the port. */
export interface ClusterFixture {
  readonly cluster: Cluster;
  /** A namespaced custom resource with a status subresource and the fields that `Gizmo` has. */
  readonly kind: Kind<Gizmo>;
  /** Why owners' deletion does not reach their children here; undefined when it does. */
  readonly noGarbageCollection?: string;
  /** A namespace that no other test uses. */
  namespace(): Promise<string>;
  /** Another client merge-patches an object, or its status, as `manager`. */
  edit(kind: Kind, key: ObjectKey, manager: string, patch: Readonly<Record<string, unknown>>): Promise<void>;
  close(): Promise<void>;
}

export interface Gizmo extends KubeObject {
  readonly spec?: { readonly size?: number; readonly color?: string; readonly note?: string };
  readonly status?: { readonly phase?: string; readonly other?: string };
}

const ConfigMap: Kind = { group: '', version: 'v1', kind: 'ConfigMap', plural: 'configmaps', namespaced: true };
const Deployment: Kind = { group: 'apps', version: 'v1', kind: 'Deployment', plural: 'deployments', namespaced: true };
const NetworkPolicy: Kind = {
  group: 'networking.k8s.io',
  version: 'v1',
  kind: 'NetworkPolicy',
  plural: 'networkpolicies',
  namespaced: true,
};

const MANAGER = 'driftless/contract';
const DEADLINE_MS = 20_000;

/** What the runtime relies on, held against every implementation. */
export function clusterContract(name: string, newFixture: () => Promise<ClusterFixture>, skip?: string): void {
  describe(`Cluster contract: ${name}`, () => {
    let fixture: ClusterFixture;
    let cluster: ClusterSession;
    before(async () => {
      if (skip !== undefined) return;
      fixture = await newFixture();
      cluster = sessionOf(fixture.cluster);
    });
    after(() => fixture?.close());
    const claim = (text: string, test: (t: TestContext) => void | Promise<void>) =>
      it(text, { skip: skip ?? false }, test);

    const signal = () => AbortSignal.timeout(DEADLINE_MS);
    const options = (more: Partial<ApplyOptions> = {}): ApplyOptions => ({
      fieldManager: MANAGER,
      signal: signal(),
      ...more,
    });
    /** Whatever is there. */
    const apply = <T extends KubeObject>(kind: Kind<T>, object: T, more: Partial<ApplyOptions> = {}) =>
      put(cluster, kind, object, options(more));
    const get = <T extends KubeObject>(kind: Kind<T>, object: KubeObject): Promise<Stored<T> | undefined> =>
      cluster.get(kind, keyOf(object), signal());
    const newGizmo = async (spec: Gizmo['spec'] = { size: 1 }) =>
      await apply(fixture.kind, gizmo(fixture.kind, { name: 'g', namespace: await fixture.namespace() }, spec));

    claim('creates what was not there', async () => {
      const namespace = await fixture.namespace();
      assert.equal(await cluster.get(fixture.kind, { namespace, name: 'g' }, signal()), undefined);

      const object = await cluster.create(
        fixture.kind,
        gizmo(fixture.kind, { name: 'g', namespace }, { size: 1 }),
        options(),
      );

      assert.equal(object.metadata.generation, 1);
      assert.deepEqual(object.spec, { size: 1 });
      assert.deepEqual(await get(fixture.kind, object), object);
    });

    claim('R3: the same again stores nothing', async () => {
      const first = await newGizmo();
      const again = await apply(fixture.kind, gizmo(fixture.kind, meta(first), { size: 1 }));
      assert.equal(again.metadata.resourceVersion, first.metadata.resourceVersion);
    });

    claim('a change moves resourceVersion and generation, a label only the resourceVersion', async () => {
      const first = await newGizmo();
      const second = await apply(fixture.kind, gizmo(fixture.kind, meta(first), { size: 2 }));
      const third = await apply(fixture.kind, gizmo(fixture.kind, { ...meta(first), labels: { a: 'b' } }, { size: 2 }));
      assert.deepEqual(
        [first, second, third].map(({ metadata }) => metadata.generation),
        [1, 2, 2],
      );
      assert.equal(new Set([first, second, third].map(({ metadata }) => metadata.resourceVersion)).size, 3);
    });

    claim('R22: refuses to create what exists, whoever made it, also when that would change nothing', async () => {
      const { kind } = fixture;
      const first = await newGizmo();
      await fixture.edit(kind, keyOf(first), 'kubectl-edit', { spec: { color: 'red' } });
      const seen = await get(kind, first);
      for (const fieldManager of [MANAGER, 'another']) {
        for (const spec of [{ size: 1 }, { size: 2 }, { color: 'blue' }]) {
          const late = cluster.create(kind, gizmo(kind, meta(first), spec), options({ fieldManager }));
          await assert.rejects(late, ConflictError);
        }
      }
      assert.deepEqual(await get(kind, first), seen);

      const made = await apply(ConfigMap, configMap(first.metadata.namespace ?? '', 'made'));
      const built = { ...configMap(first.metadata.namespace ?? '', 'made'), data: { a: 'c' } };
      await assert.rejects(cluster.create(ConfigMap, built, options({ fieldManager: 'another' })), ConflictError);
      assert.deepEqual(await get(ConfigMap, made), made);
    });

    claim('R22: refuses to create what is on its way out, and creates it when it is gone', async () => {
      const { kind } = fixture;
      const first = await newGizmo();
      const finalizers = ['test.driftless.dev/hold'];
      const held = await cluster.apply(
        kind,
        first,
        gizmoMeta(kind, { ...meta(first), finalizers }),
        options({ fieldManager: 'a' }),
      );
      await cluster.delete(kind, held, signal());
      const again = gizmo(kind, meta(first), { size: 2 });
      await assert.rejects(cluster.create(kind, again, options()), ConflictError);

      const leaving = await get(kind, first);
      assert.ok(leaving);
      await cluster.apply(kind, leaving, gizmoMeta(kind, meta(first)), options({ fieldManager: 'a' }));
      const second = await cluster.create(kind, again, options());
      assert.notEqual(second.metadata.uid, first.metadata.uid);
    });

    claim('R22: of many who create one object at once, one succeeds', async () => {
      const { kind } = fixture;
      const namespace = await fixture.namespace();
      const create = (size: number) =>
        cluster.create(kind, gizmo(kind, { name: 'g', namespace }, { size }), options({ fieldManager: `m${size}` }));
      const results = await Promise.allSettled([1, 2, 3, 4, 5, 6, 7, 8].map(create));
      const made = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
      assert.equal(made.length, 1);
      assert.deepEqual(await cluster.get(kind, { namespace, name: 'g' }, signal()), made[0]);
      for (const result of results) {
        if (result.status === 'rejected') assert.ok(result.reason instanceof ConflictError, String(result.reason));
      }
    });

    claim(
      'R22: refuses an apply to what has changed since, with force too, also when it would change nothing',
      async () => {
        const { kind } = fixture;
        const first = await newGizmo();
        await apply(kind, gizmo(kind, meta(first), { size: 2 }));
        for (const size of [2, 3]) {
          const late = gizmo(kind, meta(first), { size });
          await assert.rejects(cluster.apply(kind, first, late, options()), ConflictError);
          await assert.rejects(cluster.apply(kind, first, late, options({ force: true })), ConflictError);
        }
        assert.deepEqual((await get(kind, first))?.spec, { size: 2 });
      },
    );

    claim('R22: refuses an apply to an object with another uid', async () => {
      const first = await newGizmo();
      const late = gizmo(fixture.kind, meta(first), { size: 2 });
      await assert.rejects(cluster.apply(fixture.kind, another(first), late, options()), ConflictError);
      assert.deepEqual(await get(fixture.kind, first), first);
    });

    claim('R22: an apply never brings an object back', async () => {
      const { kind } = fixture;
      const first = await newGizmo();
      await cluster.delete(kind, first, signal());
      const late = gizmo(kind, meta(first), { size: 2 });
      await assert.rejects(cluster.apply(kind, first, late, options()), ConflictError);
      await assert.rejects(cluster.apply(kind, first, late, options({ force: true })), ConflictError);
      assert.equal(await get(kind, first), undefined);
    });

    claim('R22: what the object to be written says about uid and version counts for nothing', async () => {
      const { kind } = fixture;
      const first = await newGizmo();
      const other = { uid: OTHER_UID, resourceVersion: '5' };
      const second = await cluster.apply(
        kind,
        first,
        gizmo(kind, { ...meta(first), ...other }, { size: 2 }),
        options(),
      );
      assert.deepEqual(second.spec, { size: 2 });
      const named = gizmo(kind, { ...meta(first), ...other, name: 'h' }, { size: 1 });
      assert.equal((await cluster.create(kind, named, options())).metadata.name, 'h');
    });

    claim('R22: no write is sent when the lease is over; reads are', async () => {
      const { kind } = fixture;
      const first = await newGizmo();
      const lost = new LeaseLostError('over');
      const over = sessionOf(fixture.cluster, {
        assertLeased: () => {
          throw lost;
        },
      });
      const isLost = (error: unknown) => error === lost;
      await assert.rejects(over.create(kind, gizmo(kind, { ...meta(first), name: 'h' }), options()), isLost);
      await assert.rejects(over.apply(kind, first, gizmo(kind, meta(first), { size: 2 }), options()), isLost);
      await assert.rejects(over.patchStatus(kind, first, { phase: 'Ready' }, options()), isLost);
      await assert.rejects(over.delete(kind, first, signal()), isLost);
      assert.deepEqual(await over.get(kind, keyOf(first), signal()), first);
      assert.equal(await over.get(kind, { ...keyOf(first), name: 'h' }, signal()), undefined);
    });

    claim('R9: names the manager and the field when an apply would take a field from somebody', async () => {
      const { kind } = fixture;
      const first = await newGizmo({ size: 1, color: 'red' });
      await fixture.edit(kind, keyOf(first), 'kubectl-edit', { spec: { size: 5 } });

      const refused = await apply(kind, gizmo(kind, meta(first), { size: 1, color: 'red' })).catch((e: unknown) => e);

      assert.ok(refused instanceof FieldConflictError);
      assert.deepEqual(refused.conflicts, [{ manager: 'kubectl-edit', field: '.spec.size' }]);
      assert.deepEqual((await get(kind, first))?.spec, { size: 5, color: 'red' });
    });

    claim('R9: takes the field back with force, and then owns it', async () => {
      const { kind } = fixture;
      const first = await newGizmo();
      await fixture.edit(kind, keyOf(first), 'kubectl-edit', { spec: { size: 5 } });
      const object = await apply(kind, gizmo(kind, meta(first), { size: 1 }), { force: true });
      assert.deepEqual(object.spec, { size: 1 });
      const again = await apply(kind, gizmo(kind, meta(first), { size: 1 }));
      assert.equal(again.metadata.resourceVersion, object.metadata.resourceVersion);
    });

    claim('P34: leaves fields alone that only others set', async () => {
      const { kind } = fixture;
      const first = await newGizmo();
      await fixture.edit(kind, keyOf(first), 'kubectl-edit', { spec: { color: 'red' } });
      const object = await apply(kind, gizmo(kind, meta(first), { size: 2 }));
      assert.deepEqual(object.spec, { size: 2, color: 'red' });
    });

    claim('removes a field that is not applied any more, but not what somebody else owns', async () => {
      const { kind } = fixture;
      const first = await newGizmo({ size: 1, color: 'red', note: 'hello' });
      await fixture.edit(kind, keyOf(first), 'kubectl-edit', { spec: { color: 'blue' } });
      const object = await apply(kind, gizmo(kind, meta(first), { size: 1 }));
      assert.deepEqual(object.spec, { size: 1, color: 'blue' });
    });

    claim('removes the last label together with the map of labels', async () => {
      const { kind } = fixture;
      const labelled = gizmo(
        kind,
        { name: 'g', namespace: await fixture.namespace(), labels: { a: 'b' } },
        { size: 1 },
      );
      const first = await apply(kind, labelled);
      const object = await apply(kind, gizmo(kind, meta(first), { size: 1 }));
      assert.equal(object.metadata.labels, undefined);
    });

    claim('merges lists of containers and variables by name, item by item', async () => {
      const namespace = await fixture.namespace();
      const as = (fieldManager: string, env: readonly string[]) =>
        apply(Deployment, deployment(namespace, env), { fieldManager });
      await as('a', ['A', 'SHARED']);
      await as('b', ['B', 'SHARED']);
      await as('a', []);
      assert.deepEqual(variablesOf(await get(Deployment, deployment(namespace, []))), ['B', 'SHARED']);

      const { metadata } = await as('b', []);
      const paths = metadata.managedFields?.find(({ manager }) => manager === 'b')?.fieldsV1;
      assert.deepEqual(paths, {
        'f:spec': {
          'f:selector': {},
          'f:template': {
            'f:metadata': { 'f:labels': { 'f:app': {} } },
            'f:spec': {
              'f:containers': { 'k:{"name":"web"}': { '.': {}, 'f:image': {}, 'f:name': {} } },
            },
          },
        },
      });
    });

    claim('says in managedFields what was applied', async () => {
      const first = await newGizmo();
      const entry = first.metadata.managedFields?.find(({ manager }) => manager === MANAGER);
      assert.equal(entry?.operation, 'Apply');
      assert.deepEqual(entry?.fieldsV1, { 'f:spec': { 'f:size': {} } });
    });

    claim('two managers share a set of finalizers: each adds and removes its own (P13)', async () => {
      const { kind } = fixture;
      const first = await newGizmo();
      const as = (fieldManager: string, finalizers?: readonly string[]) =>
        apply(kind, gizmoMeta(kind, { ...meta(first), ...(finalizers ? { finalizers } : {}) }), { fieldManager });
      await as('a', ['test.driftless.dev/a']);
      const both = await as('b', ['test.driftless.dev/b']);
      assert.deepEqual(both.metadata.finalizers, ['test.driftless.dev/a', 'test.driftless.dev/b']);

      await cluster.delete(kind, both, signal());
      const leaving = await get(kind, first);
      assert.equal(leaving?.metadata.generation, 2);
      assert.ok(leaving?.metadata.deletionTimestamp);
      await cluster.delete(kind, leaving, signal());
      assert.deepEqual(await get(kind, first), leaving);

      await assert.rejects(as('c', ['test.driftless.dev/c']), isInvalid);
      assert.deepEqual((await as('a')).metadata.finalizers, ['test.driftless.dev/b']);
      await as('b');
      assert.equal(await get(kind, first), undefined);
    });

    claim('R5: patches the status, keeping what others wrote there, and nothing else', async () => {
      const { kind } = fixture;
      const first = await newGizmo();
      await fixture.edit(kind, keyOf(first), 'other', { status: { other: 'theirs' } });
      const seen = await get(kind, first);
      assert.ok(seen);
      const patched = await cluster.patchStatus(kind, seen, { phase: 'Ready' }, options());
      assert.deepEqual(patched.status, { phase: 'Ready', other: 'theirs' });
      assert.equal(patched.metadata.generation, 1);
      assert.deepEqual(await get(kind, first), patched);

      const cleared = await cluster.patchStatus(kind, patched, { phase: null }, options());
      assert.deepEqual(cleared.status, { other: 'theirs' });
    });

    claim('R5: a status patch that changes nothing stores nothing', async () => {
      const { kind } = fixture;
      const once = await cluster.patchStatus(kind, await newGizmo(), { phase: 'Ready' }, options());
      const twice = await cluster.patchStatus(kind, once, { phase: 'Ready' }, options());
      assert.equal(twice.metadata.resourceVersion, once.metadata.resourceVersion);
    });

    claim('R22: refuses a status patch that was concluded from an older state', async () => {
      const { kind } = fixture;
      const first = await newGizmo();
      await apply(kind, gizmo(kind, meta(first), { size: 2 }));
      await assert.rejects(cluster.patchStatus(kind, first, { phase: 'Ready' }, options()), ConflictError);
      assert.equal((await get(kind, first))?.status, undefined);
    });

    claim('a status in an apply is not stored', async () => {
      const { kind } = fixture;
      const object = {
        ...gizmo(kind, { name: 'g', namespace: await fixture.namespace() }, { size: 1 }),
        status: { phase: 'Ready' },
      };
      assert.equal((await apply(kind, object)).status, undefined);
    });

    claim('a status patch of an object that is gone is refused as not found', async () => {
      const { kind } = fixture;
      const first = await newGizmo();
      await cluster.delete(kind, first, signal());
      await assert.rejects(
        cluster.patchStatus(kind, first, { phase: 'Ready' }, options()),
        (error) => error instanceof ApiError && error.status.code === 404,
      );
    });

    claim('R22: deletes only the object that was observed, as it was, and what is gone is deleted', async () => {
      const { kind } = fixture;
      const first = await newGizmo();
      await assert.rejects(cluster.delete(kind, another(first), signal()), ConflictError);
      assert.deepEqual(await get(kind, first), first);
      const second = await apply(kind, gizmo(kind, meta(first), { size: 2 }));
      await assert.rejects(cluster.delete(kind, first, signal()), ConflictError);
      assert.deepEqual(await get(kind, first), second);
      await cluster.delete(kind, second, signal());
      await cluster.delete(kind, second, signal());
      assert.equal(await get(kind, first), undefined);
    });

    claim('keeps every field of plain JSON: a NetworkPolicy with `from` does not become allow-all', async () => {
      const spec = {
        podSelector: { matchLabels: { app: 'db' } },
        policyTypes: ['Ingress'],
        ingress: [
          { from: [{ podSelector: { matchLabels: { app: 'web' } } }], ports: [{ protocol: 'TCP', port: 3306 }] },
        ],
      };
      const metadata = { name: 'np', namespace: await fixture.namespace() };
      const policy = { apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy', metadata, spec };
      await apply(NetworkPolicy, policy);
      const stored = await get(NetworkPolicy, policy);
      assert.deepEqual(stored?.['spec'], spec);
    });

    claim('keeps every character of a text', async () => {
      const text =
        'next line \u0085 delete \u007f C1 \u0090 separators \u2028\u2029 BOM \ufeff non-character \ufffe emoji 😀 é \t\n"\\';
      const map = { ...configMap(await fixture.namespace(), 'texts'), data: { text } };
      await apply(ConfigMap, map);
      const stored = await get(ConfigMap, map);
      assert.deepEqual(stored?.['data'], { text });
    });

    claim('a config map has no generation', async () => {
      const object = await apply(ConfigMap, configMap(await fixture.namespace(), 'cm'));
      assert.equal(object.metadata.generation, undefined);
    });

    claim('R8: children go when their owner does', async (t: TestContext) => {
      if (fixture.noGarbageCollection !== undefined) return t.skip(fixture.noGarbageCollection);
      const namespace = await fixture.namespace();
      // A built-in kind: a running garbage collector learns of new kinds only every 30 s.
      const owner = await apply(ConfigMap, configMap(namespace, 'owner'));
      const { name, uid } = owner.metadata;
      const reference = { apiVersion: owner.apiVersion, kind: owner.kind, name, uid, controller: true };
      const child = configMap(namespace, 'child', { ownerReferences: [reference] });
      const kept = configMap(namespace, 'kept');
      await apply(ConfigMap, child);
      await apply(ConfigMap, kept);

      await cluster.delete(ConfigMap, owner, signal());

      const deadline = signal();
      while ((await cluster.get(ConfigMap, keyOf(child), deadline)) !== undefined) await new Promise(setImmediate);
      assert.ok(await get(ConfigMap, kept));
    });

    claim('stops at once when the signal has aborted, with its reason', async () => {
      const reason = new Error('enough');
      await assert.rejects(
        cluster.get(ConfigMap, { namespace: 'default', name: 'x' }, AbortSignal.abort(reason)),
        (error) => error === reason,
      );
    });
  });
}

/** Another object of the same name and version. */
function another<T extends KubeObject>(object: Stored<T>): Stored<T> {
  return { ...object, metadata: { ...object.metadata, uid: OTHER_UID } };
}

const OTHER_UID = '11111111-2222-4333-8444-555555555555';

export function gizmo({ group, version, kind }: Kind, metadata: ObjectMeta, spec: Gizmo['spec'] = {}): Gizmo {
  return { apiVersion: `${group}/${version}`, kind, metadata, spec };
}

/** What a manager applies that only cares about metadata. */
function gizmoMeta({ group, version, kind }: Kind, metadata: ObjectMeta): Gizmo {
  return { apiVersion: `${group}/${version}`, kind, metadata };
}

function configMap(namespace: string, name: string, more: Partial<ObjectMeta> = {}): KubeObject {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace, ...more }, data: { a: 'b' } };
}

function deployment(namespace: string, env: readonly string[]): KubeObject {
  const labels = { app: 'web' };
  const variables = env.map((name) => ({ name, value: 'x' }));
  const template = {
    metadata: { labels },
    spec: { containers: [{ name: 'web', image: 'web', env: variables }] },
  };
  const metadata = { name: 'd', namespace };
  return { apiVersion: 'apps/v1', kind: 'Deployment', metadata, spec: { selector: { matchLabels: labels }, template } };
}

function variablesOf(object: KubeObject | undefined): readonly string[] {
  const { spec } = Object(object);
  return spec.template.spec.containers[0].env.map(({ name }: { readonly name: string }) => name).sort();
}

function meta({ metadata: { name, namespace = '' } }: KubeObject): ObjectMeta {
  return { name, namespace };
}

function keyOf({ metadata: { namespace = '', name } }: KubeObject): ObjectKey {
  return { namespace, name };
}

function isInvalid(error: unknown): boolean {
  return error instanceof ApiError && error.status.code === 422;
}
