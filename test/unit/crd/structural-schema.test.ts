import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { z } from 'zod';
import { type StructuralSchema, structuralSchema } from '../../../shared/crd/structural-schema.ts';

/** What zod says, and what the API server is told. */
const CONVERTED: readonly { readonly says: string; readonly type: z.ZodType; readonly told: StructuralSchema }[] = [
  {
    says: 'a text with limits and a description',
    type: z.string().min(1).max(20).describe('A name.'),
    told: { type: 'string', minLength: 1, maxLength: 20, description: 'A name.' },
  },
  { says: 'a pattern', type: z.string().regex(/^[a-z]+$/), told: { type: 'string', pattern: '^[a-z]+$' } },
  {
    says: 'two patterns',
    type: z.string().startsWith('a').endsWith('b'),
    told: { type: 'string', allOf: [{ pattern: '^a.*' }, { pattern: '.*b$' }] },
  },
  {
    says: 'a format that the server reads alike, with the stricter pattern of zod',
    type: z.iso.date(),
    told: {
      type: 'string',
      format: 'date',
      pattern:
        '^(?:(?:\\d\\d[2468][048]|\\d\\d[13579][26]|\\d\\d0[48]|[02468][048]00|[13579][26]00)-02-29|\\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\\d|30)|(?:02)-(?:0[1-9]|1\\d|2[0-8])))$',
    },
  },
  {
    says: 'a format that only zod knows',
    type: z.string().lowercase(),
    told: { type: 'string', pattern: '^[^A-Z]*$' },
  },
  { says: 'an enum', type: z.enum(['a', 'b']), told: { type: 'string', enum: ['a', 'b'] } },
  { says: 'a literal', type: z.literal('a'), told: { type: 'string', enum: ['a'] } },
  { says: 'whole numbers of an enum', type: z.literal([1, 2]), told: { type: 'integer', enum: [1, 2] } },
  { says: 'a whole number', type: z.int(), told: { type: 'integer', format: 'int64' } },
  {
    says: 'a small whole number',
    type: z.int().min(0).max(100).default(1),
    told: { type: 'integer', format: 'int32', minimum: 0, maximum: 100, default: 1 },
  },
  {
    says: 'a number above another',
    type: z.number().gt(0.5),
    told: { type: 'number', minimum: 0.5, exclusiveMinimum: true },
  },
  { says: 'a truth value', type: z.boolean().default(false), told: { type: 'boolean', default: false } },
  { says: 'null besides a value', type: z.string().nullable(), told: { type: 'string', nullable: true } },
  {
    says: 'a list',
    type: z.array(z.string()).max(3).readonly(),
    told: { type: 'array', maxItems: 3, items: { type: 'string' } },
  },
  {
    says: 'a set',
    type: z.array(z.string()).meta({ 'x-kubernetes-list-type': 'set' }),
    told: { type: 'array', items: { type: 'string' }, 'x-kubernetes-list-type': 'set' },
  },
  {
    says: 'a map',
    type: z.record(z.string(), z.boolean()),
    told: { type: 'object', additionalProperties: { type: 'boolean' } },
  },
  { says: 'anything', type: z.unknown(), told: { 'x-kubernetes-preserve-unknown-fields': true } },
  {
    says: 'a closed object, which pruning closes',
    type: z.strictObject({ a: z.string(), b: z.string().optional(), c: z.string().default('x') }),
    told: {
      type: 'object',
      required: ['a'],
      properties: { a: { type: 'string' }, b: { type: 'string' }, c: { type: 'string', default: 'x' } },
    },
  },
  {
    says: 'an open object',
    type: z.looseObject({ a: z.boolean() }),
    told: {
      type: 'object',
      required: ['a'],
      properties: { a: { type: 'boolean' } },
      'x-kubernetes-preserve-unknown-fields': true,
    },
  },
  {
    says: 'a number or a text, as ports and percentages are',
    type: z.union([z.int(), z.string()]).meta({ 'x-kubernetes-int-or-string': true }),
    told: { 'x-kubernetes-int-or-string': true },
  },
  {
    says: 'a refinement that a CEL rule repeats',
    type: z
      .string()
      .refine((text) => text.length % 2 === 0)
      .meta({ 'x-kubernetes-validations': [{ rule: 'self.size() % 2 == 0', message: 'must be even' }] }),
    told: {
      type: 'string',
      'x-kubernetes-validations': [{ rule: 'self.size() % 2 == 0', message: 'must be even' }],
    },
  },
];

/** What the API server could not enforce, and the beginning of what the author is told. */
const REFUSED: readonly { readonly what: string; readonly type: z.ZodType; readonly told: string }[] = [
  { what: 'a Date', type: z.date(), told: 'a Date has no form in JSON; use z.iso.datetime()' },
  { what: 'a bigint', type: z.bigint(), told: 'a bigint has no form in JSON; use z.int()' },
  { what: 'a tuple', type: z.tuple([z.string()]), told: 'the items of a list have one type; use z.array(…)' },
  { what: 'a union of objects', type: z.union([z.object({ a: z.int() }), z.object({})]), told: 'a union needs anyOf' },
  {
    what: 'an int-or-string with a limit, which the server would not check',
    type: z.union([z.int().min(1), z.string()]).meta({ 'x-kubernetes-int-or-string': true }),
    told: 'a union needs anyOf',
  },
  {
    what: 'an intersection',
    type: z.intersection(z.object({ a: z.string() }), z.object({ b: z.string() })),
    told: 'an intersection needs allOf',
  },
  { what: 'a transform', type: z.string().transform(Number), told: 'the API server stores what the user wrote' },
  { what: 'a preprocess', type: z.preprocess(String, z.string()), told: 'the API server stores what the user wrote' },
  { what: 'a codec', type: z.stringbool(), told: 'the API server stores what the user wrote' },
  { what: 'a trim', type: z.string().trim(), told: 'the API server changes no text' },
  { what: 'a coercion', type: z.coerce.number(), told: 'the API server coerces nothing' },
  { what: 'a catch', type: z.string().catch('x'), told: 'the API server replaces no wrong value' },
  { what: 'a refinement', type: z.string().refine((s) => s !== ''), told: 'a refinement runs in TypeScript only' },
  { what: 'a custom type', type: z.custom<string>(() => true), told: 'a custom type is checked in TypeScript only' },
  { what: 'null alone', type: z.null(), told: 'the type null is not allowed' },
  { what: 'an enum of mixed types', type: z.literal([1, 'a']), told: 'the values of an enum must be of one type' },
  { what: 'an empty enum', type: z.enum([]), told: 'the values of an enum must be of one type' },
  { what: 'keys of a map', type: z.record(z.enum(['a']), z.string()), told: 'the keys of a map go unchecked' },
  {
    what: 'a catchall besides fields',
    type: z.object({ a: z.string() }).catchall(z.string()),
    told: 'named fields and a catchall may not stand side by side',
  },
  { what: 'a look-ahead', type: z.string().regex(/^(?!a)/), told: 'the pattern has look-around' },
  { what: 'a look-behind', type: z.string().regex(/(?<=a)b/), told: 'the pattern has look-around' },
  { what: 'a back reference', type: z.string().regex(/(a)\1/), told: 'the pattern has a back reference' },
  { what: 'a flag of a pattern', type: z.string().regex(/^a$/i), told: 'a pattern loses its flags (i)' },
  { what: 'a format checked by code', type: z.url(), told: 'the API server has no equal of the format "url"' },
  { what: 'an id', type: z.string().meta({ id: 'Name' }), told: '.meta() cannot say "id" to the API server' },
  { what: 'a limit in meta', type: z.string().meta({ maxLength: 3 }), told: '.meta() cannot say "maxLength"' },
];

describe('R30: zod to structural schema', () => {
  for (const { says, type, told } of CONVERTED) {
    it(`tells the API server ${says}`, () => {
      assert.deepEqual(structuralSchema(z.object({ field: type.optional() }), 'spec'), {
        schema: { type: 'object', properties: { field: told } },
        problems: [],
      });
    });
  }

  for (const { what, type, told } of REFUSED) {
    it(`refuses ${what}, which the API server could not enforce`, () => {
      const { schema, problems } = structuralSchema(z.object({ list: z.array(z.object({ field: type })) }), 'v1 spec');
      assert.deepEqual(schema, {});
      assert.equal(problems.length, 1);
      assert.equal(problems[0]?.slice(0, `v1 spec.list[].field: ${told}`.length), `v1 spec.list[].field: ${told}`);
    });
  }

  it('refuses a type that refers to itself', () => {
    const Tree: z.ZodType = z.object({
      get branches() {
        return z.array(Tree).optional();
      },
    });
    assert.deepEqual(structuralSchema(Tree, 'spec').problems, [
      'spec.branches[]: it refers to itself; declare the inner one as z.unknown()',
    ]);
  });

  it('sees a refinement on one of two fields that share a type, though the other has a rule', () => {
    const name = z.string().refine((text) => text !== 'default');
    const ruled = name.meta({ 'x-kubernetes-validations': [{ rule: "self != 'default'", message: 'is taken' }] });
    const { problems } = structuralSchema(z.object({ a: name, b: ruled, c: ruled.optional() }), 'spec');
    assert.deepEqual(
      problems.map((problem) => problem.split(':')[0]),
      ['spec.a'],
    );
  });

  it('names every problem at once', () => {
    const { problems } = structuralSchema(z.object({ a: z.date(), b: z.object({ c: z.bigint() }) }), 'spec');
    assert.deepEqual(problems, [
      'spec.a: a Date has no form in JSON; use z.iso.datetime()',
      'spec.b.c: a bigint has no form in JSON; use z.int()',
    ]);
  });
});
