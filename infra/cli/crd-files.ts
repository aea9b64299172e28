import { isCustomKind } from '../../shared/crd/define-kind.ts';
import { crdName, GENERATED, renderCrd } from '../../shared/crd/render.ts';
import type { Controller } from '../../shared/reconcile/controller.ts';

/** Text files by name. */
export type Files = ReadonlyMap<string, string>;

/** How a folder differs from what it should hold. */
export interface Difference {
  readonly file: string;
  readonly is: 'missing' | 'stale' | 'extra';
}

/** One file for each kind that `controllers` define; kinds that are built into Kubernetes need none. */
export function crdFiles(controllers: readonly Controller[]): Files {
  const definitions = controllers.flatMap(({ kind }) => (isCustomKind(kind) ? [kind.definition] : []));
  return new Map(definitions.map((definition) => [`${crdName(definition)}.yaml`, renderCrd(definition)]));
}

/** In the order of file names. Extra is only what was generated once; other files in the folder are left alone. */
export function differences(expected: Files, actual: Files): readonly Difference[] {
  const names = [...new Set([...expected.keys(), ...actual.keys()])].sort((a, b) => (a < b ? -1 : 1));
  return names.flatMap((file) => differenceOf(file, expected.get(file), actual.get(file)));
}

function differenceOf(file: string, expected: string | undefined, actual: string | undefined): readonly Difference[] {
  if (actual === undefined) return [{ file, is: 'missing' }];
  if (expected === undefined) return actual.startsWith(GENERATED) ? [{ file, is: 'extra' }] : [];
  return actual === expected ? [] : [{ file, is: 'stale' }];
}
