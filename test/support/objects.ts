import { ConfigMap, Deployment, Secret, Service } from '../../shared/kube/builtin.ts';
import type { Kind } from '../../shared/kube/kind.ts';
import type { KubeObject, ObjectMeta, Stored } from '../../shared/kube/object.ts';
import {
  type Controller,
  type DesiredChild,
  defineController,
  type Plan,
  type PlanInput,
  plan,
} from '../../shared/reconcile/controller.ts';

/** A kind for tests: a Widget makes what `spec` says. */
export interface WidgetObject extends KubeObject {
  readonly spec: { readonly size: number; readonly children?: readonly DesiredChild[] };
  readonly status?: Readonly<Record<string, unknown>>;
}

export const Widget: Kind<WidgetObject> = {
  group: 'test.driftless.dev',
  version: 'v1',
  kind: 'Widget',
  plural: 'widgets',
  namespaced: true,
};

export function widget(meta: Partial<ObjectMeta> = {}, spec: WidgetObject['spec'] = { size: 1 }): Stored<WidgetObject> {
  return {
    apiVersion: 'test.driftless.dev/v1',
    kind: 'Widget',
    metadata: { name: 'w', namespace: 'default', uid: 'uid-w', resourceVersion: '10', generation: 1, ...meta },
    spec,
  };
}

export function configMap(name: string, data: Record<string, string>, meta: Partial<ObjectMeta> = {}): DesiredChild {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, ...meta }, data };
}

const ClusterRole: Kind = {
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  kind: 'ClusterRole',
  plural: 'clusterroles',
  namespaced: false,
};

/** A controller for Widgets. Without a plan of its own it makes one ConfigMap that holds the size. */
export function widgetController(
  planWidget: (input: PlanInput<WidgetObject>) => Plan = ({ object }) =>
    plan({
      children: [configMap(`${object.metadata.name}-cm`, { size: String(object.spec.size) })],
      status: { size: object.spec.size },
      conditions: [{ type: 'Ready', status: 'True', reason: 'Made', message: 'The ConfigMap is made.' }],
    }),
): Controller {
  return defineController({
    kind: Widget,
    owns: [ConfigMap, Secret, Deployment, Service, ClusterRole],
    plan: planWidget,
  });
}
