import { z } from 'zod';
import { TerminalError } from '../errors.ts';
import type { Condition } from '../kube/conditions.ts';
import { formatGroupKind, type GroupKind, type Kind } from '../kube/kind.ts';
import type { KubeObject } from '../kube/object.ts';
import type { PrinterColumn } from './printer-column.ts';
import { type StructuralSchema, structuralSchema, type ValidationRule } from './structural-schema.ts';

/** One version of a kind. */
export interface VersionOptions {
  /** Whether the API server offers this version. @default true */
  readonly served?: boolean;
  /** Exactly one version is stored; the controller works on that one. */
  readonly storage?: boolean;
  /** The type of `spec`, in zod: what the API server checks and fills in. */
  readonly schema: z.ZodObject;
  /**
   * The type of `status`. None of its fields is ever required: the first thing to be reported may be a condition.
   * `conditions` and `observedGeneration` are added.
   */
  readonly status?: z.ZodObject;
  /** CEL rules on the whole object; of `metadata` they see the name only. Rules on fields go into `.meta()`. */
  readonly rules?: readonly ValidationRule[];
  readonly printerColumns?: readonly PrinterColumn[];
}

export interface KindOptions<Versions extends Readonly<Record<string, VersionOptions>>> {
  /** A domain that is yours: `apps.example.com`. */
  readonly group: string;
  /** CamelCase, singular: `WebApp`. */
  readonly kind: string;
  /** @default the kind in lower case, in the plural: `webapps` */
  readonly plural?: string;
  readonly shortNames?: readonly string[];
  /** Groups that `kubectl get` knows the kind by, besides its names. */
  readonly categories?: readonly string[];
  /** @default 'Namespaced' */
  readonly scope?: 'Namespaced' | 'Cluster';
  /** For `kubectl explain`. */
  readonly description: string;
  /** By name: `{ v1: { … } }`. */
  readonly versions: Versions;
}

/** A kind of our own, with what it takes to render its CustomResourceDefinition. */
export interface CustomKind<T extends KubeObject = KubeObject> extends Kind<T> {
  readonly definition: KindDefinition;
}

/** A kind's definition as plain data. */
export interface KindDefinition {
  readonly group: string;
  readonly kind: string;
  readonly plural: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly scope: 'Namespaced' | 'Cluster';
  readonly description: string;
  readonly versions: readonly VersionDefinition[];
}

export interface VersionDefinition {
  readonly name: string;
  readonly served: boolean;
  readonly storage: boolean;
  readonly spec: StructuralSchema;
  readonly status: StructuralSchema;
  readonly rules: readonly ValidationRule[];
  readonly printerColumns: readonly PrinterColumn[];
}

/** An object of a kind of our own, as the API server returns it: defaults are filled in. */
export type CustomObject<Spec, Status> = KubeObject & {
  readonly spec: Spec;
  readonly status?: Partial<Status> & FrameworkStatus;
};

/** The part of the status that every kind has, and the runtime writes. */
export interface FrameworkStatus {
  readonly conditions?: readonly Condition[];
  readonly observedGeneration?: number;
}

type SpecOf<Version extends VersionOptions> = z.output<Version['schema']>;
type StatusOf<Version> = Version extends { readonly status: infer Status extends z.ZodObject }
  ? z.output<Status>
  : object;
type Storage<Versions> = Extract<Versions[keyof Versions], { readonly storage: true }>;

/**
 * Declares a kind once: its types, and the CustomResourceDefinition that makes the API server enforce them.
 *
 * @throws {TerminalError} `INVALID_KIND`, with every problem, when the API server could not enforce what the types say.
 * @example
 * export const Greeting = defineKind({
 *   group: 'example.com', kind: 'Greeting', description: 'Says hello.',
 *   versions: { v1: { storage: true, schema: z.object({ to: z.string().min(1) }) } },
 * });
 */
export function defineKind<const Versions extends Readonly<Record<string, VersionOptions>>>(
  options: KindOptions<Versions>,
): CustomKind<CustomObject<SpecOf<Storage<Versions>>, StatusOf<Storage<Versions>>>> {
  const { group, kind, description, plural = pluralOf(kind), scope = 'Namespaced' } = options;
  const { shortNames = [], categories = [] } = options;
  const conversions = Object.entries(options.versions).map(([name, version]) => convertVersion(name, version));
  const versions = conversions.map(({ version }) => version);
  const [storage, ...more] = versions.filter((version) => version.storage);

  const problems = [...nameProblems(options), ...conversions.flatMap((conversion) => conversion.problems)];
  if (storage === undefined || more.length > 0) problems.push('versions: exactly one must have "storage: true"');
  if (storage === undefined || problems.length > 0) throw invalidKind(options, problems);

  return {
    group,
    version: storage.name,
    kind,
    plural,
    namespaced: scope === 'Namespaced',
    definition: { group, kind, plural, shortNames, categories, scope, description, versions },
  };
}

/** Whether a kind was defined here, and not built into Kubernetes. */
export function isCustomKind(kind: Kind): kind is CustomKind {
  return 'definition' in kind;
}

/** The plural as client-go guesses it (`UnsafeGuessKindToResource`). */
function pluralOf(kind: string): string {
  const singular = kind.toLowerCase();
  if (singular.endsWith('s')) return `${singular}es`;
  return singular.endsWith('y') ? `${singular.slice(0, -1)}ies` : `${singular}s`;
}

function convertVersion(name: string, options: VersionOptions) {
  const {
    schema,
    status: statusType = z.object({}),
    served = true,
    storage = false,
    rules = [],
    printerColumns = [],
  } = options;
  const spec = structuralSchema(schema, `${name} spec`);
  const reported = structuralSchema(statusType, `${name} status`);
  const { required: _, ...status } = reported.schema;
  const taken = FRAMEWORK_FIELDS.filter((field) => field in statusType.shape);
  return {
    version: { name, served, storage, spec: spec.schema, status, rules, printerColumns },
    problems: [
      ...(/^v[1-9]\d*((alpha|beta)[1-9]\d*)?$/.test(name)
        ? []
        : [`${name}: a version is called v1, v1beta1 or v1alpha1`]),
      ...spec.problems,
      ...reported.problems,
      ...taken.map((field) => `${name} status.${field}: it is added to every kind; leave it out`),
    ],
  };
}

const FRAMEWORK_FIELDS = ['conditions', 'observedGeneration'] as const satisfies (keyof FrameworkStatus)[];

function nameProblems({ group, kind }: GroupKind): string[] {
  return [
    ...(/^[a-z0-9-]+(\.[a-z0-9-]+)+$/.test(group) ? [] : [`group: "${group}" is not a domain like apps.example.com`]),
    ...(/^[A-Z][A-Za-z0-9]*$/.test(kind) ? [] : [`kind: "${kind}" is not CamelCase like WebApp`]),
  ];
}

function invalidKind(kind: GroupKind, problems: readonly string[]): TerminalError {
  const list = problems.map((problem) => `  - ${problem}`).join('\n');
  return new TerminalError('INVALID_KIND', `cannot define ${formatGroupKind(kind)}:\n${list}`);
}
