import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { z } from 'zod';
import {
  type CustomKind,
  defineKind,
  isCustomKind,
  type KindOptions,
  type VersionOptions,
} from '../../../shared/crd/define-kind.ts';
import { AGE_COLUMN, conditionColumn } from '../../../shared/crd/printer-column.ts';
import { customResourceDefinition, GENERATED, renderCrd } from '../../../shared/crd/render.ts';
import { Deployment } from '../../../shared/kube/builtin.ts';
import type { ObjectOf } from '../../../shared/kube/kind.ts';

const Greeting = defineKind({
  group: 'test.driftless.dev',
  kind: 'Greeting',
  shortNames: ['on'],
  description: 'Says hello.',
  versions: {
    v1alpha1: { schema: z.object({ name: z.string() }) },
    v1: {
      storage: true,
      schema: z.object({ to: z.string().min(1), times: z.int().min(1).max(9).default(1) }),
      status: z.object({ said: z.int() }),
      rules: [{ rule: "self.metadata.name != 'nobody'", message: 'nobody cannot be greeted' }],
      printerColumns: [conditionColumn('Ready'), AGE_COLUMN],
    },
  },
});

describe('R30: a kind is declared once', () => {
  it('is served as its storage version', () => {
    const { definition, ...kind } = Greeting;
    assert.deepEqual(kind, {
      group: 'test.driftless.dev',
      version: 'v1',
      kind: 'Greeting',
      plural: 'greetings',
      namespaced: true,
    });
    assert.equal(definition.versions.length, 2);
  });

  it('gives its objects the type of the storage version, with defaults filled in', () => {
    const object: ObjectOf<typeof Greeting> = {
      apiVersion: 'test.driftless.dev/v1',
      kind: 'Greeting',
      metadata: { name: 'g' },
      spec: { to: 'you', times: 2 },
      status: { observedGeneration: 1, conditions: [] },
    };
    // @ts-expect-error `times` has a default, so it is never absent
    const incomplete: ObjectOf<typeof Greeting> = { ...object, spec: { to: 'you' } };
    // @ts-expect-error a status holds what its schema says
    const wrong: ObjectOf<typeof Greeting> = { ...object, status: { said: 'twice' } };
    assert.equal(object.spec.times, 2);
    assert.notDeepEqual(incomplete, wrong);
  });

  it('is told apart from the kinds of Kubernetes', () => {
    assert.equal(isCustomKind(Greeting), true);
    assert.equal(isCustomKind(Deployment), false);
  });

  for (const [kind, plural] of [
    ['WebApp', 'webapps'],
    ['Policy', 'policies'],
    ['Bus', 'buses'],
  ] as const) {
    it(`calls many of ${kind} ${plural}`, () => assert.equal(define({ kind }).plural, plural));
  }

  it('can be cluster-scoped', () => {
    assert.equal(define({ scope: 'Cluster' }).namespaced, false);
  });

  for (const { wrong, options, told } of [
    {
      wrong: 'a field that the API server could not enforce',
      options: { versions: { v1: { storage: true, schema: z.object({ when: z.date() }) } } },
      told: 'cannot define Thing.test.driftless.dev:\n  - v1 spec.when: a Date has no form in JSON; use z.iso.datetime()',
    },
    {
      wrong: 'no stored version',
      options: { versions: { v1: { schema: z.object({}) } } },
      told: 'cannot define Thing.test.driftless.dev:\n  - versions: exactly one must have "storage: true"',
    },
    {
      wrong: 'two stored versions',
      options: {
        versions: { v1: { storage: true, schema: z.object({}) }, v2: { storage: true, schema: z.object({}) } },
      },
      told: 'cannot define Thing.test.driftless.dev:\n  - versions: exactly one must have "storage: true"',
    },
    {
      wrong: 'a version of another form',
      options: { versions: { latest: { storage: true, schema: z.object({}) } } },
      told: 'cannot define Thing.test.driftless.dev:\n  - latest: a version is called v1, v1beta1 or v1alpha1',
    },
    {
      wrong: 'a status with conditions of its own',
      options: {
        versions: { v1: { storage: true, schema: z.object({}), status: z.object({ conditions: z.string() }) } },
      },
      told: 'cannot define Thing.test.driftless.dev:\n  - v1 status.conditions: it is added to every kind; leave it out',
    },
    {
      wrong: 'names that Kubernetes refuses',
      options: { group: 'example', kind: 'thing' },
      told:
        'cannot define thing.example:\n  - group: "example" is not a domain like apps.example.com\n' +
        '  - kind: "thing" is not CamelCase like WebApp',
    },
  ]) {
    it(`is refused with ${wrong}`, () => {
      assert.throws(() => define(options), { name: 'TerminalError', code: 'INVALID_KIND', message: told });
    });
  }
});

describe('R30: the CustomResourceDefinition of a kind', () => {
  const { metadata, spec } = customResourceDefinition(Greeting.definition);
  const [alpha, v1] = spec.versions;
  const root = v1?.schema.openAPIV3Schema;

  it('has its names', () => {
    assert.equal(metadata.name, 'greetings.test.driftless.dev');
    assert.equal(spec.group, 'test.driftless.dev');
    assert.equal(spec.scope, 'Namespaced');
    assert.deepEqual(spec.names, {
      kind: 'Greeting',
      listKind: 'GreetingList',
      plural: 'greetings',
      singular: 'greeting',
      shortNames: ['on'],
    });
  });

  it('serves every version and stores one', () => {
    assert.deepEqual(
      spec.versions.map(({ name, served, storage }) => ({ name, served, storage })),
      [
        { name: 'v1alpha1', served: true, storage: false },
        { name: 'v1', served: true, storage: true },
      ],
    );
  });

  it('R5: has the status subresource in every version', () => {
    assert.deepEqual([alpha?.subresources, v1?.subresources], [{ status: {} }, { status: {} }]);
  });

  it('requires a spec and describes it', () => {
    assert.deepEqual(root?.required, ['spec']);
    assert.deepEqual(root?.properties?.['spec'], {
      type: 'object',
      required: ['to'],
      properties: {
        to: { type: 'string', minLength: 1 },
        times: { type: 'integer', format: 'int32', minimum: 1, maximum: 9, default: 1 },
      },
    });
    assert.equal(root?.description, 'Says hello.');
  });

  it('R6: lets a status begin with any field, and gives it conditions by type', () => {
    const status = root?.properties?.['status'];
    assert.equal(status?.required, undefined);
    assert.deepEqual(Object.keys(status?.properties ?? {}), ['said', 'conditions', 'observedGeneration']);
    const conditions = status?.properties?.['conditions'];
    assert.equal(conditions?.['x-kubernetes-list-type'], 'map');
    assert.deepEqual(conditions?.['x-kubernetes-list-map-keys'], ['type']);
    assert.deepEqual(conditions?.items?.required, ['type', 'status', 'reason', 'message', 'lastTransitionTime']);
  });

  it('has the rules on the whole object', () => {
    assert.deepEqual(root?.['x-kubernetes-validations'], [
      { rule: "self.metadata.name != 'nobody'", message: 'nobody cannot be greeted' },
    ]);
  });

  it('has its columns', () => {
    assert.deepEqual(v1?.additionalPrinterColumns, [
      { name: 'Ready', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
      { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
    ]);
    assert.equal(alpha?.additionalPrinterColumns, undefined);
  });

  it('is text that says where it comes from, the same at every rendering', () => {
    const text = renderCrd(Greeting.definition);
    assert.equal(text.startsWith(GENERATED), true);
    assert.equal(renderCrd(Greeting.definition), text);
  });

  it('quotes what YAML 1.1 would take for something else', () => {
    const text = renderCrd(Greeting.definition);
    assert.match(text, /shortNames:\n {6}- "on"\n/);
    assert.match(text, /enum:\n +- "True"\n +- "False"\n +- Unknown\n/);
    assert.doesNotMatch(text, /[&*]a\d/, 'no anchors: a repeated part is written out');
  });
});

type Options = KindOptions<Readonly<Record<string, VersionOptions>>>;

function define(options: Partial<Options>): CustomKind {
  const versions = { v1: { storage: true, schema: z.object({}) } } as const;
  return defineKind({ group: 'test.driftless.dev', kind: 'Thing', description: 'A thing.', versions, ...options });
}
