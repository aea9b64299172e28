/** One entry of `metadata.ownerReferences`. */
export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
  readonly blockOwnerDeletion?: boolean;
}

/** The part of `metadata` that Driftless reads or writes. Times are RFC 3339 text, as on the wire. */
export interface ObjectMeta {
  readonly name: string;
  /** Absent for cluster-scoped objects. */
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  /** Some built-in kinds have none: ConfigMap, Secret, Service, ServiceAccount, Namespace … */
  readonly generation?: number;
  readonly creationTimestamp?: string | null;
  readonly deletionTimestamp?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly finalizers?: readonly string[];
  readonly ownerReferences?: readonly OwnerReference[];
  /** Never sent: the server refuses an apply that carries it. */
  readonly managedFields?: readonly ManagedFields[];
}

/** Which fields a manager owns (KEP-555). */
export interface ManagedFields {
  readonly manager?: string;
  readonly operation?: 'Apply' | 'Update';
  readonly subresource?: string;
  /** `f:name` is a field, `k:{…}` a list entry by its keys, `v:…` a set's member, `.` the thing itself. */
  readonly fieldsV1?: Readonly<Record<string, unknown>>;
}

/** Any Kubernetes object, as plain JSON: no field is dropped or converted in either direction. */
export interface KubeObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta;
  readonly [field: string]: unknown;
}

/** An object that has been stored: the API server has given it an identity. */
export type Stored<T extends KubeObject = KubeObject> = T & { readonly metadata: StoredMeta };

export interface StoredMeta extends ObjectMeta {
  readonly uid: string;
  readonly resourceVersion: string;
}

/** The owner of this object that manages it, if there is one (`controller: true`; there is at most one). */
export function controllerOf(meta: ObjectMeta): OwnerReference | undefined {
  return meta.ownerReferences?.find((owner) => owner.controller === true);
}
