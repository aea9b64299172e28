import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { WebApp } from '../../functions/controllers/webapp/kind.ts';
import { type CustomKind, defineKind } from '../../shared/crd/define-kind.ts';
import { crdName, renderCrd } from '../../shared/crd/render.ts';
import { apiVersionOf } from '../../shared/kube/kind.ts';

const kubeconfig = process.env['DRIFTLESS_TEST_KUBECONFIG'];
const skip = kubeconfig === undefined ? 'DRIFTLESS_TEST_KUBECONFIG names no API server' : false;

describe('R31: the API server enforces what WebApp says', { skip }, () => {
  before(() => install(WebApp));

  it('fills in defaults', async () => {
    const { stdout } = await dryRun([webApp('web', { image: 'nginx:1.29' })], 'json');
    assert.deepEqual(JSON.parse(stdout).spec, { image: 'nginx:1.29', replicas: 1, port: 8080 });
  });

  for (const { what, name = 'web', spec, told } of [
    {
      what: 'a negative number of replicas',
      spec: { image: 'nginx', replicas: -1 },
      told: 'spec.replicas: Invalid value: -1: spec.replicas in body should be greater than or equal to 0',
    },
    { what: 'a missing image', spec: {}, told: 'spec.image: Required value' },
    { what: 'a missing spec', spec: undefined, told: 'spec: Required value' },
    { what: 'an unknown field', spec: { image: 'nginx', imgae: 'x' }, told: 'unknown field "spec.imgae"' },
    {
      what: 'a port that is none',
      spec: { image: 'nginx', port: 65536 },
      told: 'spec.port: Invalid value: 65536: spec.port in body should be less than or equal to 65535',
    },
    {
      what: 'a host that is no DNS name',
      spec: { image: 'nginx', host: 'Not a host' },
      told: 'spec.host: Invalid value: "Not a host": spec.host in body should match',
    },
    {
      what: 'a TLS Secret without a host',
      spec: { image: 'nginx', tlsSecretName: 'cert' },
      told: 'spec.tlsSecretName: Invalid value: tlsSecretName needs a host',
    },
    {
      what: 'a name that no Service can have',
      name: 'my.app',
      spec: { image: 'nginx' },
      told: 'metadata.name must fit a Service',
    },
  ]) {
    it(`refuses ${what}, and names the field`, async () => {
      const { stdout, stderr } = await dryRun([webApp(name, spec)]);
      assert.equal(stdout, '');
      assert(stderr.includes(told), stderr);
    });
  }

  it('describes every field to kubectl explain', async () => {
    const { stdout } = await eventually(
      () => kubectl(['explain', 'webapp.spec']),
      ({ code }) => code === 0,
    );
    for (const text of [
      'The container image to run: "nginx:1.29".',
      'How many copies run at once.',
      'The port that the container listens on.',
    ]) {
      assert(stdout.includes(text), stdout);
    }
  });

  it('answers to its short name and its category', async () => {
    const { stdout } = await kubectl(['get', '--raw', `/apis/${apiVersionOf(WebApp)}`]);
    const [resource] = JSON.parse(stdout).resources;
    assert.deepEqual([resource.name, resource.shortNames, resource.categories], ['webapps', ['wa'], ['driftless']]);
  });
});

/** Every construct that a kind may use, with values that zod accepts and refuses. */
const CONSTRUCTS: Readonly<Record<string, { type: z.ZodType; good: readonly unknown[]; bad: readonly unknown[] }>> = {
  text: { type: z.string().min(1).max(3), good: ['a', 'abc'], bad: ['', 'abcd', 1] },
  pattern: { type: z.string().regex(/^[a-z]+$/), good: ['ab'], bad: ['aB'] },
  patterns: { type: z.string().startsWith('a').endsWith('b'), good: ['ab'], bad: ['a', 'b'] },
  template: { type: z.templateLiteral([z.int(), '%']), good: ['12%'], bad: ['12', '%'] },
  date: { type: z.iso.date(), good: ['2026-02-28'], bad: ['2026-02-30', '28.2.2026'] },
  time: { type: z.iso.datetime(), good: ['2026-02-28T01:02:03Z'], bad: ['2026-02-28', '2026-02-28T01:02:03+01:00'] },
  email: { type: z.email(), good: ['a@example.com'], bad: ['a'] },
  uuid: { type: z.uuid(), good: ['8f14e45f-ceea-467f-a8d3-8c2ab5e6a8b1'], bad: ['8f14e45f'] },
  ipv4: { type: z.ipv4(), good: ['10.0.0.1'], bad: ['10.0.0.256', '::1'] },
  cidr: { type: z.cidrv4(), good: ['10.0.0.0/8'], bad: ['10.0.0.0', '10.0.0.0/33'] },
  base64: { type: z.base64(), good: ['YQ=='], bad: ['YQ='] },
  lowercase: { type: z.string().lowercase(), good: ['a'], bad: ['A'] },
  choice: { type: z.enum(['on', 'y']), good: ['on', 'y'], bad: ['off', true] },
  numbers: { type: z.literal([1, 2]), good: [1, 2], bad: [3, '1'] },
  int: { type: z.int(), good: [0, -5], bad: [1.5, '1'] },
  small: { type: z.int32().max(9), good: [9], bad: [10, 0.5] },
  above: { type: z.number().gt(0.5).lt(2), good: [0.6], bad: [0.5, 2] },
  even: { type: z.int().multipleOf(2), good: [4], bad: [3] },
  flag: { type: z.boolean(), good: [true, false], bad: ['true'] },
  nullable: { type: z.string().nullable(), good: ['a', null], bad: [1] },
  list: {
    type: z.array(z.string().max(1)).min(1).max(2).readonly(),
    good: [['a']],
    bad: [[], ['a', 'b', 'c'], ['ab']],
  },
  set: {
    type: z
      .array(z.string().max(9))
      .max(9)
      .refine((list) => new Set(list).size === list.length)
      .meta({
        'x-kubernetes-list-type': 'set',
        'x-kubernetes-validations': [{ rule: 'self.all(x, self.exists_one(y, x == y))', message: 'has one twice' }],
      }),
    good: [['a', 'b']],
    bad: [['a', 'a']],
  },
  map: { type: z.record(z.string(), z.int()), good: [{ a: 1 }], bad: [{ a: 'x' }] },
  anything: { type: z.unknown(), good: [1, 'a', { deep: [true] }], bad: [] },
  open: { type: z.looseObject({ a: z.int() }), good: [{ a: 1, b: { c: 2 } }], bad: [{ b: 1 }] },
  nested: {
    type: z.object({ a: z.object({ b: z.string() }).default({ b: 'x' }) }),
    good: [{}, { a: { b: 'y' } }],
    bad: [{ a: {} }],
  },
  intOrText: {
    type: z.union([z.int(), z.string()]).meta({ 'x-kubernetes-int-or-string': true }),
    good: [80, 'http'],
    bad: [true, [1]],
  },
  ruled: {
    type: z
      .string()
      .max(9)
      .refine((text) => text.length % 2 === 0)
      .meta({ 'x-kubernetes-validations': [{ rule: 'self.size() % 2 == 0', message: 'must be even' }] }),
    good: ['ab'],
    bad: ['a'],
  },
};

const Gallery = defineKind({
  group: 'contract.driftless.dev',
  kind: 'Gallery',
  description: 'Every construct that a kind may use.',
  versions: {
    v1: {
      storage: true,
      schema: z.object(
        Object.fromEntries(Object.entries(CONSTRUCTS).map(([name, { type }]) => [name, type.optional()])),
      ),
      status: z.object({ count: z.int() }),
    },
  },
});

describe('R30: the API server accepts what zod accepts, and refuses what it refuses', { skip }, () => {
  before(() => install(Gallery));
  after(() => kubectl(['delete', 'crd', crdName(Gallery.definition)]));

  it('for every construct that a kind may use', async () => {
    const cases = Object.entries(CONSTRUCTS).flatMap(([field, { type, good, bad }]) =>
      [...good.map((value) => ({ value, ok: true })), ...bad.map((value) => ({ value, ok: false }))].map(
        ({ value, ok }, index) => ({
          name: `${field.toLowerCase()}-${ok ? 'good' : 'bad'}-${index}`,
          field,
          value,
          ok,
          type,
        }),
      ),
    );
    for (const { name, type, value, ok } of cases) assert.equal(type.safeParse(value).success, ok, name);

    const { stdout, stderr } = await dryRun(
      cases.map(({ name, field, value }) => ({
        apiVersion: apiVersionOf(Gallery),
        kind: 'Gallery',
        metadata: { name },
        spec: { [field]: value },
      })),
    );
    const accepted = [...stdout.matchAll(/\/(\S+) created/g)].map(([, name]) => name);
    const good = cases.filter(({ ok }) => ok).map(({ name }) => name);
    assert.deepEqual(accepted, good, stderr);
  });
});

interface Output {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

async function install(kind: CustomKind): Promise<void> {
  const applied = await kubectl(['apply', '--server-side', '-f', '-'], renderCrd(kind.definition));
  assert.equal(applied.code, 0, applied.stderr);
  await eventually(
    () => kubectl(['get', `${kind.plural}.${kind.group}`]),
    ({ code }) => code === 0,
  );
}

function webApp(name: string, spec: Readonly<Record<string, unknown>> | undefined) {
  return { apiVersion: apiVersionOf(WebApp), kind: WebApp.kind, metadata: { name }, spec };
}

/** Asks the API server for its verdict on new objects; nothing is stored. */
function dryRun(objects: readonly unknown[], output: 'name' | 'json' = 'name'): Promise<Output> {
  const args = ['create', '--namespace', 'default', '--dry-run=server', '-f', '-'];
  const input = objects.map((object) => JSON.stringify(object)).join('\n');
  return kubectl(output === 'json' ? [...args, '--output', 'json'] : args, input);
}

function kubectl(args: readonly string[], input = ''): Promise<Output> {
  return new Promise((resolve) => {
    const options = { timeout: 30_000, env: { ...process.env, KUBECONFIG: kubeconfig } };
    const child = execFile('kubectl', args, options, (error, stdout, stderr) =>
      resolve({
        code: error === null ? 0 : 1,
        stdout,
        stderr: `${stderr}${error !== null && stderr === '' ? error.message : ''}`,
      }),
    );
    child.stdin?.end(input);
  });
}

/** A new kind is served, and described, a moment after it was accepted. */
async function eventually(ask: () => Promise<Output>, done: (output: Output) => boolean): Promise<Output> {
  const deadline = performance.now() + 20_000;
  for (;;) {
    const output = await ask();
    if (done(output)) return output;
    assert(performance.now() < deadline, output.stderr);
    await delay(200);
  }
}
