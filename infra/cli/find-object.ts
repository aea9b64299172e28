import { OperatorError } from '../../shared/errors.ts';
import { formatGroupKind } from '../../shared/kube/kind.ts';
import { formatItemKey, type ItemKey } from '../../shared/queue/work-item.ts';
import type { Controller } from '../../shared/reconcile/controller.ts';

/** The arguments name a kind or a controller that this build does not have, or more than one. */
class UnknownKindError extends OperatorError {
  constructor(message: string) {
    super('UNKNOWN_KIND', message, { kind: 'never' });
  }
}

/** There is no work item for the object. */
export class UnknownObjectError extends OperatorError {
  constructor(key: ItemKey) {
    super(
      'UNKNOWN_OBJECT',
      `there is no work item of ${formatItemKey(key)}: no message about it has been answered, or it is gone`,
      { kind: 'never' },
    );
  }
}

export interface Wanted {
  /** As kubectl takes it: `webapp`, `webapps`, `WebApp` or `webapp.apps.driftless.dev`. @default any */
  readonly kind?: string | undefined;
  /** The name of a controller. @default any */
  readonly controller?: string | undefined;
}

/** The one controller that is meant. @throws {UnknownKindError} for none, or several */
export function chooseController(controllers: readonly Controller[], { kind, controller }: Wanted): Controller {
  const matches = controllers.filter(
    (each) => (controller === undefined || each.name === controller) && (kind === undefined || isCalled(each, kind)),
  );
  const [only, ...others] = matches;
  const what = [kind === undefined ? [] : `kind ${kind}`, controller === undefined ? [] : `controller ${controller}`];
  if (only === undefined) {
    const known = controllers.map((each) => `${each.name} (${formatGroupKind(each.kind)})`).join(', ');
    throw new UnknownKindError(`there is no ${what.flat().join(' with ')}; there are: ${known}`);
  }
  if (others.length === 0) return only;
  const names = matches.map(({ name }) => name).join(', ');
  throw new UnknownKindError(`several controllers could be meant (${names}): choose one with --controller`);
}

/** @param object `namespace/name`, or `name` for a kind that is cluster-scoped */
export function itemKeyOf({ name: controller, kind }: Controller, cluster: string, object: string): ItemKey {
  const [name = '', namespace = '', ...more] = object.split('/').reverse();
  const isComplete = name !== '' && more.length === 0 && kind.namespaced === (namespace !== '');
  if (!isComplete) {
    const form = kind.namespaced ? 'NAMESPACE/NAME' : 'NAME';
    throw new UnknownKindError(`'${object}' does not name a ${kind.kind}: expected ${form}`);
  }
  return { cluster, controller, group: kind.group, kind: kind.kind, namespace, name };
}

function isCalled({ kind }: Controller, text: string): boolean {
  const [name = '', ...group] = text.toLowerCase().split('.');
  const hasName = name === kind.kind.toLowerCase() || name === kind.plural;
  return hasName && (group.length === 0 || group.join('.') === kind.group);
}
