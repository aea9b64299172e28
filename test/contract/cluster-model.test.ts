import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import { MemoryCluster, mergePatched } from '../../shared/adapters/memory/cluster.ts';
import type { Kind } from '../../shared/kube/kind.ts';
import type { KubeObject, Stored } from '../../shared/kube/object.ts';
import type { ClusterSession } from '../../shared/ports/cluster.ts';
import { sessionOf } from '../support/session.ts';
import { type ApiServer, NO_API_SERVER, openApiServer } from './cluster-api-server.ts';

/** Lists that merge by name, with no controller that reacts to it. */
const PodTemplate: Kind = { group: '', version: 'v1', kind: 'PodTemplate', plural: 'podtemplates', namespaced: true };

type Fields = Readonly<Record<string, unknown>>;

type Operation =
  | {
      readonly kind: 'apply';
      readonly manager: string;
      readonly force: boolean;
      /** What it takes for granted: that nothing exists, or the object as it is, as it was first, or another of its name. */
      readonly observed: 'nothing' | 'now' | 'first' | 'another';
      readonly metadata: Fields;
      readonly fields: Fields;
    }
  | { readonly kind: 'edit'; readonly patch: Fields }
  | { readonly kind: 'patchStatus'; readonly manager: string; readonly phase: string | null }
  | { readonly kind: 'delete' };

/** What must be the same on both: how it ended, whether anything was stored, and what is there then. */
interface Step {
  readonly outcome: unknown;
  readonly stored: boolean;
  readonly object: unknown;
}

describe('the cluster in memory', () => {
  let server: ApiServer;
  before(async () => {
    if (NO_API_SERVER === undefined) server = await openApiServer();
  });
  after(() => server?.close());

  for (const [what, kindOf, fields, patch] of [
    ['a custom resource', () => server.gizmos, gizmoFields(), gizmoPatch()],
    ['lists of named items', () => PodTemplate, templateFields(), templatePatch()],
  ] as const) {
    it(`answers to any sequence of calls as the API server does: ${what}`, {
      skip: NO_API_SERVER ?? false,
    }, async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(operation(fields, patch), { maxLength: 12 }), async (operations) => {
          const kind = kindOf();
          const key = { namespace: await server.namespace(), name: 'x' };
          const memory = new MemoryCluster();
          const real = runner(sessionOf(server.cluster), kind, key, (p) => server.patch(kind, key, 'editor', p));
          const model = runner(sessionOf(memory), kind, key, async (p) => {
            memory.edit(kind, key, 'editor', (object) => mergePatched(object, p) as KubeObject);
          });
          for (const op of operations) assert.deepEqual(await model(op), await real(op), JSON.stringify(op));
        }),
        { numRuns: 15 },
      );
    });
  }
});

function runner(
  cluster: ClusterSession,
  kind: Kind,
  key: { readonly namespace: string; readonly name: string },
  edit: (patch: Fields) => Promise<void>,
): (operation: Operation) => Promise<Step> {
  const signal = () => AbortSignal.timeout(20_000);
  const apiVersion = kind.group === '' ? kind.version : `${kind.group}/${kind.version}`;
  let first: Stored | undefined;

  const run = async (op: Operation, live: Stored | undefined): Promise<unknown> => {
    switch (op.kind) {
      case 'apply': {
        const object = { apiVersion, kind: kind.kind, metadata: { ...op.metadata, ...key }, ...op.fields };
        const options = { fieldManager: op.manager, force: op.force, signal: signal() };
        const observed = observedAs(op.observed, live, first);
        if (observed === undefined) return (await cluster.create(kind, object, options)) && 'created';
        return (await cluster.apply(kind, observed, object, options)) && 'applied';
      }
      case 'edit':
        return live === undefined ? 'absent' : await edit(op.patch);
      case 'patchStatus': {
        if (live === undefined || kind === PodTemplate) return 'absent';
        const options = { fieldManager: op.manager, signal: signal() };
        return (await cluster.patchStatus(kind, live, { phase: op.phase }, options)) && 'patched';
      }
      case 'delete':
        return live === undefined ? 'absent' : await cluster.delete(kind, live, signal());
    }
  };

  return async (op) => {
    const live = await cluster.get(kind, key, signal());
    first ??= live;
    const outcome = await run(op, live).catch(refusalOf);
    const next = await cluster.get(kind, key, signal());
    return {
      outcome,
      stored: live?.metadata.resourceVersion !== next?.metadata.resourceVersion,
      object: contentOf(next),
    };
  };
}

function observedAs(what: 'nothing' | 'now' | 'first' | 'another', live?: Stored, first?: Stored): Stored | undefined {
  switch (what) {
    case 'nothing':
      return undefined;
    case 'now':
      return live;
    case 'first':
      return first;
    case 'another':
      return live && { ...live, metadata: { ...live.metadata, uid: '11111111-2222-4333-8444-555555555555' } };
  }
}

function refusalOf(error: { name?: string; status?: { code?: number }; conflicts?: readonly object[] }): unknown {
  const conflicts = error.conflicts?.map((conflict) => JSON.stringify(conflict)).sort((a, b) => a.localeCompare(b));
  return { name: error.name, code: error.status?.code, conflicts };
}

/** What both have: not the server's defaults, and no identities. */
function contentOf(object: Stored | undefined): unknown {
  if (object === undefined) return undefined;
  const { labels, annotations, finalizers, deletionTimestamp } = object.metadata;
  const { spec, status, template } = object as { spec?: unknown; status?: unknown; template?: TemplateSpec };
  return {
    labels,
    annotations,
    finalizers: finalizers && sorted(finalizers),
    isLeaving: deletionTimestamp !== undefined,
    spec,
    status,
    grace: template?.spec.terminationGracePeriodSeconds,
    containers: template && sorted(template.spec.containers.map(containerText)),
  };
}

interface TemplateSpec {
  readonly spec: {
    readonly terminationGracePeriodSeconds: number;
    readonly containers: readonly {
      name: string;
      image: string;
      args?: string[];
      env?: { name: string; value: string }[];
    }[];
  };
}

function containerText({ name, image, args, env }: TemplateSpec['spec']['containers'][number]): string {
  return JSON.stringify([name, image, args, env && sorted(env.map((e) => `${e.name}=${e.value}`))]);
}

function sorted(texts: readonly string[]): readonly string[] {
  return [...texts].sort((a, b) => a.localeCompare(b));
}

function operation(fields: fc.Arbitrary<Fields>, patch: fc.Arbitrary<Fields>): fc.Arbitrary<Operation> {
  const manager = fc.constantFrom('a', 'b');
  // One label, one finalizer and one field of the spec are always there: who names an empty map or list owns it as a
  // whole, which the model leaves out.
  const texts = fc.record({ z: fc.constant('1'), l: digit(), m: digit() }, { requiredKeys: ['z'] });
  const finalizers = fc.subarray(['test.driftless.dev/a', 'test.driftless.dev/b'], { minLength: 1 });
  return fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({
        kind: fc.constant('apply' as const),
        manager,
        force: fc.boolean(),
        observed: fc.constantFrom(
          'now' as const,
          'now' as const,
          'nothing' as const,
          'first' as const,
          'another' as const,
        ),
        metadata: fc.record({ labels: texts, annotations: texts, finalizers }, { requiredKeys: ['labels'] }),
        fields,
      }),
    },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('edit' as const), patch }) },
    {
      weight: 1,
      arbitrary: fc.record({
        kind: fc.constant('patchStatus' as const),
        manager,
        phase: fc.constantFrom('Pending', 'Ready', null),
      }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('delete' as const) }) },
  );
}

function gizmoFields(): fc.Arbitrary<Fields> {
  const spec = fc.record(
    { size: fc.integer({ min: 1, max: 2 }), color: digit(), note: digit() },
    { requiredKeys: ['size'] },
  );
  return fc.record({ spec });
}

function gizmoPatch(): fc.Arbitrary<Fields> {
  return fc.record({
    spec: fc.record(
      { size: fc.constantFrom(1, 2, 3, null), color: fc.constantFrom('1', '2', null) },
      { requiredKeys: [] },
    ),
    metadata: fc.record({ labels: fc.record({ l: fc.constantFrom('1', '2', null) }) }),
  });
}

function templateFields(): fc.Arbitrary<Fields> {
  const variable = (name: string) => fc.record({ name: fc.constant(name), value: digit() });
  const env = fc.tuple(variable('A'), variable('B')).chain((both) => fc.subarray(both));
  // The image never differs: a container that lost it to another manager would be invalid, and schemas are not modelled.
  const container = (name: string) =>
    fc.record(
      { name: fc.constant(name), image: fc.constant('image'), args: fc.tuple(digit()), env },
      { requiredKeys: ['name', 'image'] },
    );
  const containers = fc.oneof(fc.tuple(container('web')), fc.tuple(container('web'), container('side')));
  const spec = fc.record({ terminationGracePeriodSeconds: fc.integer({ min: 1, max: 2 }), containers });
  return fc.record({ template: fc.record({ metadata: fc.constant({ labels: { a: 'b' } }), spec }) });
}

function templatePatch(): fc.Arbitrary<Fields> {
  const spec = fc.record({ terminationGracePeriodSeconds: fc.integer({ min: 1, max: 3 }) });
  return fc.record({ template: fc.record({ spec }) });
}

function digit(): fc.Arbitrary<string> {
  return fc.constantFrom('1', '2');
}
