import { z } from 'zod';
import { lossesOf } from './representable.ts';

/** A CEL rule that the API server evaluates; `self` is the value it stands on. */
export interface ValidationRule {
  readonly rule: string;
  readonly message: string;
  readonly reason?: 'FieldValueInvalid' | 'FieldValueForbidden' | 'FieldValueRequired' | 'FieldValueDuplicate';
  readonly fieldPath?: string;
  readonly optionalOldSelf?: boolean;
}

/** A node of a structural schema: the part of OpenAPI v3 that `apiextensions.k8s.io/v1` stores and enforces. */
export interface StructuralSchema {
  readonly type?: 'object' | 'array' | 'string' | 'integer' | 'number' | 'boolean';
  readonly title?: string;
  readonly description?: string;
  readonly format?: string;
  readonly nullable?: boolean;
  readonly default?: unknown;
  readonly enum?: readonly (string | number | boolean)[];
  readonly minimum?: number;
  readonly exclusiveMinimum?: boolean;
  readonly maximum?: number;
  readonly exclusiveMaximum?: boolean;
  readonly multipleOf?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly allOf?: readonly { readonly pattern?: string; readonly multipleOf?: number }[];
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly items?: StructuralSchema;
  readonly minProperties?: number;
  readonly maxProperties?: number;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, StructuralSchema>>;
  readonly additionalProperties?: StructuralSchema;
  readonly 'x-kubernetes-validations'?: readonly ValidationRule[];
  readonly 'x-kubernetes-list-type'?: 'atomic' | 'set' | 'map';
  readonly 'x-kubernetes-list-map-keys'?: readonly string[];
  readonly 'x-kubernetes-map-type'?: 'atomic' | 'granular';
  readonly 'x-kubernetes-int-or-string'?: true;
  readonly 'x-kubernetes-embedded-resource'?: true;
  readonly 'x-kubernetes-preserve-unknown-fields'?: true;
}

export interface Conversion {
  /** Empty when there are problems. */
  readonly schema: StructuralSchema;
  /** Each says where, what cannot be said, and a way out. */
  readonly problems: readonly string[];
}

/**
 * The structural schema that accepts what `schema` accepts, before defaults are filled in.
 *
 * Equally strict, or a problem: never quietly weaker. Two differences remain, and are Kubernetes' own: unknown fields are
 * pruned (kubectl refuses them) also where zod would refuse, and integers may exceed what a double holds exactly.
 *
 * @param path what stands in front of field names in problems: `spec`
 */
export function structuralSchema(schema: z.ZodType, path: string): Conversion {
  const losses = lossesOf(schema, path);
  if (losses.length > 0) return { schema: {}, problems: losses };

  const json = z.toJSONSchema(schema, { target: 'openapi-3.0', io: 'input', reused: 'inline', cycles: 'throw' });
  // Sound: of what zod emits, nothing without losses has other keywords than our type.
  return { schema: toStructural(json as JsonSchema), problems: [] };
}

/** What zod emits: the same keywords, some with other values, and a few of its own. */
type JsonSchema = Omit<StructuralSchema, 'items' | 'properties' | 'additionalProperties' | 'allOf'> & {
  readonly items?: JsonSchema;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly additionalProperties?: JsonSchema | false;
  readonly allOf?: readonly JsonSchema[];
  readonly anyOf?: unknown;
  readonly readOnly?: boolean;
  readonly contentEncoding?: string;
};

/** Formats that zod and the API server read alike. Others go: the pattern that zod puts beside each one says the same. */
const SHARED_FORMATS: readonly (string | undefined)[] = ['date', 'date-time', 'email', 'ipv4', 'ipv6', 'uuid'];

function toStructural(json: JsonSchema): StructuralSchema {
  const { readOnly, contentEncoding, format, anyOf, type, ...rest } = json;
  const { items, properties, additionalProperties, allOf, ...scalar } = rest;
  if (json['x-kubernetes-int-or-string'] === true) return scalar;
  if (type === undefined) return { ...scalar, 'x-kubernetes-preserve-unknown-fields': true };
  return {
    ...(isWhole(json) ? whole(scalar) : { ...scalar, type }),
    ...(SHARED_FORMATS.includes(format) ? { format } : {}),
    ...(allOf === undefined ? {} : { allOf: allOf.map(({ type: _, ...check }) => check) }),
    ...(items === undefined ? {} : { items: toStructural(items) }),
    ...(properties === undefined ? {} : { properties: mapValues(properties, toStructural) }),
    ...valuesOf(additionalProperties),
  };
}

function isWhole({ type, enum: values }: JsonSchema): boolean {
  return type === 'integer' || (type === 'number' && values?.every((value) => Number.isInteger(value)) === true);
}

const INT32 = { min: -(2 ** 31), max: 2 ** 31 - 1 };

function whole({ minimum, maximum, ...rest }: StructuralSchema): StructuralSchema {
  const fitsInt32 = minimum !== undefined && minimum >= INT32.min && maximum !== undefined && maximum <= INT32.max;
  return {
    ...rest,
    type: 'integer',
    ...(rest.enum === undefined ? { format: fitsInt32 ? 'int32' : 'int64' } : {}),
    // What zod says about every integer is about doubles, not about the field.
    ...(minimum === undefined || minimum === Number.MIN_SAFE_INTEGER ? {} : { minimum }),
    ...(maximum === undefined || maximum === Number.MAX_SAFE_INTEGER ? {} : { maximum }),
  };
}

/** Closed objects are closed by pruning; open ones keep what they do not name; maps have a type for their values. */
function valuesOf(additional: JsonSchema | false | undefined): StructuralSchema {
  if (additional === undefined || additional === false) return {};
  if (Object.keys(additional).length === 0) return { 'x-kubernetes-preserve-unknown-fields': true };
  return { additionalProperties: toStructural(additional) };
}

function mapValues<A, B>(record: Readonly<Record<string, A>>, change: (value: A) => B): Readonly<Record<string, B>> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value)]));
}
