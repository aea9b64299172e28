/**
 * What authors of operators use: kinds, controllers, plans. Nothing here touches the world.
 *
 * @module driftless
 */

export { type CustomKind, defineKind } from './crd/define-kind.ts';
export { AGE_COLUMN, conditionColumn, type PrinterColumn } from './crd/printer-column.ts';
export { TerminalError, TransientError } from './errors.ts';
export { ConfigMap, Deployment, Ingress, Secret, Service } from './kube/builtin.ts';
export type { Condition, ConditionClaim, ConditionStatus } from './kube/conditions.ts';
export { apiVersionOf, type Kind, type ObjectOf } from './kube/kind.ts';
export type { KubeObject, ObjectMeta, Stored } from './kube/object.ts';
export { deploymentReadiness } from './readiness/deployment.ts';
export { ingressReadiness } from './readiness/ingress.ts';
export { nextPhase, PHASES } from './readiness/phase.ts';
export { type Readiness, type ReadinessState, worstState } from './readiness/readiness.ts';
export { serviceReadiness } from './readiness/service.ts';
export type { Children } from './reconcile/children.ts';
export {
  type Controller,
  type ControllerOptions,
  type DesiredChild,
  defineController,
  type Plan,
  type PlanInput,
  type PlanOptions,
  plan,
} from './reconcile/controller.ts';
export { awaitChange, type Result, requeueAfter } from './reconcile/result.ts';
