import type { z } from 'zod';
import { CEL_HINT, checkLosses, metaOf } from './check-losses.ts';

type Schema = z.core.$ZodType;
type Def = z.core.$ZodTypes['_zod']['def'];
type Form = Def['type'];

/** Where a schema stands, and what its outer layers have said about it already. */
interface Place {
  readonly path: string;
  readonly ancestors: readonly Schema[];
  /** A CEL rule stands on this field, so the API server checks what zod alone would. */
  readonly hasRule: boolean;
}

/**
 * What `schema` says and a structural schema cannot, as `path: what it is; a way out`. Empty when nothing is lost.
 *
 * zod's own JSON Schema drops a refinement, a transform or the rule of a record's keys without a word; the API server
 * would then accept what the types exclude. So whatever the server could not check is refused by name.
 */
export function lossesOf(schema: z.ZodType, path: string): readonly string[] {
  return lossesAt(schema, { path, ancestors: [], hasRule: false });
}

const NO_FORM = {
  bigint: 'a bigint has no form in JSON; use z.int()',
  catch: 'the API server replaces no wrong value; refuse it, or use .default() for an absent one',
  custom: 'a custom type is checked in TypeScript only; use a type of zod with a CEL rule',
  date: 'a Date has no form in JSON; use z.iso.datetime()',
  file: 'a File has no form in JSON; use z.base64()',
  function: 'a function has no form in JSON',
  intersection: 'an intersection needs allOf, which may not hold types; use one z.object({ ...a.shape, ...b.shape })',
  map: 'a Map has no form in JSON; use z.record(z.string(), …)',
  nan: 'NaN has no form in JSON',
  never: 'nothing is valid here; leave the field out',
  null: 'the type null is not allowed; use .nullable() on another type',
  pipe: 'the API server stores what the user wrote and transforms nothing; keep the input type and convert it in the plan',
  promise: 'a Promise has no form in JSON',
  set: "a Set has no form in JSON; use z.array(…).meta({ 'x-kubernetes-list-type': 'set' })",
  success: 'a result of validation has no form in JSON',
  symbol: 'a symbol has no form in JSON',
  transform: 'the API server stores what the user wrote and transforms nothing; convert it in the plan',
  tuple: 'the items of a list have one type; use z.array(…) with a CEL rule, or z.object(…)',
  undefined: 'undefined has no form in JSON; use .optional()',
  union:
    'a union needs anyOf, which may not hold types; use z.enum(…) for texts, one z.object(…) with optional fields and a ' +
    "CEL rule for objects, or .meta({ 'x-kubernetes-int-or-string': true }) for z.union([z.int(), z.string()])",
  void: 'void has no form in JSON; use .optional()',
} as const satisfies Partial<Record<Form, string>>;

function lossesAt(schema: Schema, outer: Place): readonly string[] {
  if (outer.ancestors.includes(schema))
    return [`${outer.path}: it refers to itself; declare the inner one as z.unknown()`];
  // Sound: every schema that zod's functions return is one of these.
  const { def } = (schema as z.core.$ZodTypes)._zod;
  const place = {
    path: outer.path,
    ancestors: [...outer.ancestors, schema],
    hasRule: outer.hasRule || metaOf(schema)['x-kubernetes-validations'] !== undefined,
  };
  const losses = checkLosses(schema, place.hasRule).map((loss) => `${place.path}: ${loss}`);
  return [...losses, ...lossesInside(schema, def, place)];
}

function lossesInside(schema: Schema, def: Def, place: Place): readonly string[] {
  switch (def.type) {
    case 'any':
    case 'unknown':
    case 'boolean':
    case 'number':
    case 'string':
    case 'template_literal':
      return [];
    case 'enum':
      return mixedValues(Object.values(def.entries), place);
    case 'literal':
      return mixedValues(def.values, place);
    case 'optional':
    case 'nonoptional':
    case 'nullable':
    case 'default':
    case 'prefault':
    case 'readonly':
      return lossesAt(def.innerType, place);
    case 'lazy':
      return lossesAt((schema as z.core.$ZodLazy)._zod.innerType, place);
    case 'array':
      return lossesAt(def.element, { ...place, path: `${place.path}[]`, hasRule: false });
    case 'object':
      return objectLosses(def, place);
    case 'record':
      return [
        ...(isPlainString(def.keyType) || place.hasRule
          ? []
          : [`${place.path}: the keys of a map go unchecked; ${CEL_HINT}`]),
        ...lossesAt(def.valueType, { ...place, path: `${place.path}.*`, hasRule: false }),
      ];
    case 'union':
      return metaOf(schema)['x-kubernetes-int-or-string'] === true && def.options.every(isPlainIntOrString)
        ? []
        : [`${place.path}: ${NO_FORM.union}`];
    case 'bigint':
    case 'catch':
    case 'custom':
    case 'date':
    case 'file':
    case 'function':
    case 'intersection':
    case 'map':
    case 'nan':
    case 'never':
    case 'null':
    case 'pipe':
    case 'promise':
    case 'set':
    case 'success':
    case 'symbol':
    case 'transform':
    case 'tuple':
    case 'undefined':
    case 'void':
      return [`${place.path}: ${NO_FORM[def.type]}`];
  }
}

function objectLosses(def: z.core.$ZodObjectDef, place: Place): readonly string[] {
  const catchall = def.catchall?._zod.def.type ?? 'never';
  const fields = Object.entries(def.shape).flatMap(([name, field]) =>
    lossesAt(field, { ...place, path: `${place.path}.${name}`, hasRule: false }),
  );
  return catchall === 'never' || catchall === 'unknown' || catchall === 'any'
    ? fields
    : [
        ...fields,
        `${place.path}: named fields and a catchall may not stand side by side; put a z.record(…) into a field`,
      ];
}

function mixedValues(values: readonly unknown[], place: Place): readonly string[] {
  const types = new Set(values.map((value) => (value === null ? 'null' : typeof value)));
  const [type = 'none'] = types;
  return types.size === 1 && ['string', 'number', 'boolean'].includes(type)
    ? []
    : [`${place.path}: the values of an enum must be of one type: string, number or boolean`];
}

function isPlainString(schema: Schema): boolean {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  return def.type === 'string' && (def.checks ?? []).length === 0 && !schema._zod.traits.has('$ZodCheck');
}

function isPlainIntOrString(schema: Schema): boolean {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  const isInt = def.type === 'number' && 'format' in def && def.format === 'safeint' && (def.checks ?? []).length === 0;
  return isInt || isPlainString(schema);
}
