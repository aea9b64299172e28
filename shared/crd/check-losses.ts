import { z } from 'zod';
import { patternProblems } from './re2.ts';

type FormatDef = z.core.$ZodTypeDef & z.core.$ZodCheckStringFormatDef;

export const CEL_HINT = "say it as a CEL rule: .meta({ 'x-kubernetes-validations': [{ rule, message }] })";

/**
 * What the checks and the metadata of this one schema say that the API server could not enforce.
 *
 * @param hasRule a CEL rule on the field does what a refinement would
 */
export function checkLosses(schema: z.core.$ZodType, hasRule: boolean): readonly string[] {
  const { def, traits } = schema._zod;
  const coerced = 'coerce' in def && def.coerce === true ? ['the API server coerces nothing; use the type itself'] : [];
  // `z.email()` is its own first check, `z.string().email()` carries one.
  const own = traits.has('$ZodCheckStringFormat') ? formatLosses(def as FormatDef) : [];
  const added = (def.checks ?? []).flatMap((check) => lossesOfCheck(check._zod.def, hasRule));
  const template = def.type === 'template_literal' ? patternLosses(schema._zod.pattern) : [];
  return [...coerced, ...own, ...added, ...template, ...metaLosses(schema)];
}

/** What `.describe()` and `.meta()` said. */
export function metaOf(schema: z.core.$ZodType): Readonly<Record<string, unknown>> {
  return z.globalRegistry.get(schema) ?? {};
}

function lossesOfCheck(def: z.core.$ZodCheckDef, hasRule: boolean): readonly string[] {
  if (def.check === 'custom') return hasRule ? [] : [`a refinement runs in TypeScript only; ${CEL_HINT}`];
  if (def.check === 'overwrite') {
    return ['the API server changes no text (trim, toLowerCase …); refuse what you would change with .regex(…)'];
  }
  return def.check === 'string_format' ? formatLosses(def as FormatDef) : [];
}

function formatLosses({ format, pattern }: FormatDef): readonly string[] {
  // A format without a pattern is checked by code of zod: a URL, a JWT.
  return pattern === undefined
    ? [`the API server has no equal of the format "${format}"; use .regex(…)`]
    : patternLosses(pattern);
}

function patternLosses(pattern: RegExp | undefined): readonly string[] {
  if (pattern === undefined) return [];
  const flags = pattern.flags.replaceAll(/[dguvy]/g, '');
  const lost = flags === '' ? [] : [`a pattern loses its flags (${flags}); write them inside, as in (?i:…)`];
  return [...lost, ...patternProblems(pattern.source)];
}

/** Checks belong into zod's own methods, where the types see them; `id` would make a `$ref`. */
const META_KEYWORDS: readonly string[] = [
  'title',
  'description',
  'x-kubernetes-validations',
  'x-kubernetes-list-type',
  'x-kubernetes-list-map-keys',
  'x-kubernetes-map-type',
  'x-kubernetes-int-or-string',
  'x-kubernetes-embedded-resource',
  'x-kubernetes-preserve-unknown-fields',
];

function metaLosses(schema: z.core.$ZodType): readonly string[] {
  return Object.keys(metaOf(schema))
    .filter((keyword) => !META_KEYWORDS.includes(keyword))
    .map((keyword) => `.meta() cannot say "${keyword}" to the API server; take it out`);
}
