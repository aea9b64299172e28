import { FENCE, FENCED, FENCED_USER, HOLDER_EXTRA, NAMELESS } from '../kube/fence.ts';
import { apiVersionOf, type Kind } from '../kube/kind.ts';
import type { KubeObject } from '../kube/object.ts';
import type { Controller } from './controller.ts';
import { functionRules, type PolicyRule } from './permissions.ts';

/** An object to install, with the kind that says where. */
export interface Installable {
  readonly kind: Kind;
  readonly object: KubeObject;
}

/** The service account of the functions, in the namespace of the fence. */
export const FUNCTIONS_ACCOUNT = 'driftless-functions';

const ADMISSION = 'admissionregistration.k8s.io';
const RBAC = 'rbac.authorization.k8s.io';

const kindOf = (group: string, kind: string, plural: string, namespaced: boolean): Kind => ({
  group,
  version: 'v1',
  kind,
  plural,
  namespaced,
});

/**
 * What strict mode needs in a cluster: the fence, the policy that reads it, and permissions by which the functions'
 * account can do nothing but act as the user whom the policy watches, and write the fence.
 *
 * In the order in which they can be applied. Applying them again keeps what is on the fence.
 */
export function fenceObjects(controllers: readonly Controller[]): readonly Installable[] {
  const { name, namespace } = FENCE;
  const account = { kind: 'ServiceAccount', name: FUNCTIONS_ACCOUNT, namespace };
  const worker = { kind: 'User', apiGroup: RBAC, name: FENCED_USER };
  return [
    installable(kindOf('', 'Namespace', 'namespaces', false), { name: namespace }),
    installable(kindOf('', 'ConfigMap', 'configmaps', true), { name, namespace }),
    installable(
      kindOf(ADMISSION, 'ValidatingAdmissionPolicy', 'validatingadmissionpolicies', false),
      { name },
      {
        spec: policySpec(controllers),
      },
    ),
    installable(
      kindOf(ADMISSION, 'ValidatingAdmissionPolicyBinding', 'validatingadmissionpolicybindings', false),
      { name },
      {
        spec: {
          policyName: name,
          validationActions: ['Deny'],
          paramRef: { ...FENCE, parameterNotFoundAction: 'Deny' },
        },
      },
    ),
    ...granted(FENCED_USER, undefined, functionRules(controllers), worker),
    ...granted(
      'driftless-impersonation',
      undefined,
      [
        { apiGroups: [''], resources: ['users'], resourceNames: [FENCED_USER], verbs: ['impersonate'] },
        { apiGroups: ['authentication.k8s.io'], resources: [`userextras/${HOLDER_EXTRA}`], verbs: ['impersonate'] },
      ],
      account,
    ),
    ...granted(
      name,
      namespace,
      [{ apiGroups: [''], resources: ['configmaps'], resourceNames: [name], verbs: ['get', 'patch'] }],
      account,
    ),
  ];
}

/** Refuses the functions' user each write without a holder, and each write of a holder that is on the fence. */
function policySpec(controllers: readonly Controller[]): Readonly<Record<string, unknown>> {
  const kinds = controllers.flatMap(({ kind, owns }) => [kind, ...owns]);
  const groups = [...new Set(kinds.map(({ group }) => group))];
  const operations = ['CREATE', 'UPDATE', 'DELETE'];
  const refuse = (expression: string, message: string) => ({ expression, message, reason: 'Forbidden' });
  return {
    failurePolicy: 'Fail',
    paramKind: { apiVersion: 'v1', kind: 'ConfigMap' },
    matchConstraints: {
      resourceRules: [
        ...groups.map((group) => ({
          apiGroups: [group],
          apiVersions: ['*'],
          operations,
          resources: [...new Set(kinds.filter((kind) => kind.group === group).map(({ plural }) => plural))]
            .sort()
            .flatMap((plural) => [plural, `${plural}/*`]),
        })),
        // Only so that one can see whether the policy is in force yet.
        { apiGroups: [''], apiVersions: ['v1'], operations, resources: ['configmaps'], resourceNames: [FENCE.name] },
      ],
    },
    matchConditions: [{ name: 'functions', expression: `request.userInfo.username == '${FENCED_USER}'` }],
    variables: [{ name: 'holder', expression: `request.userInfo.?extra[?'${HOLDER_EXTRA}'].orValue([])` }],
    validations: [
      refuse('size(variables.holder) == 1', NAMELESS),
      refuse('!variables.holder.exists(holder, holder in params.?data.orValue({}))', FENCED),
    ],
  };
}

/** A role and its binding: in one namespace, or in all. */
function granted(
  name: string,
  namespace: string | undefined,
  rules: readonly PolicyRule[],
  subject: Readonly<Record<string, string>>,
): readonly Installable[] {
  const [scope, isNamespaced] = namespace === undefined ? ['Cluster', false] : ['', true];
  const metadata = namespace === undefined ? { name } : { name, namespace };
  const role = kindOf(RBAC, `${scope}Role`, `${scope}Roles`.toLowerCase(), isNamespaced);
  const binding = kindOf(RBAC, `${scope}RoleBinding`, `${scope}RoleBindings`.toLowerCase(), isNamespaced);
  const roleRef = { apiGroup: RBAC, kind: role.kind, name };
  return [installable(role, metadata, { rules }), installable(binding, metadata, { roleRef, subjects: [subject] })];
}

function installable(kind: Kind, metadata: KubeObject['metadata'], content: object = {}): Installable {
  return { kind, object: { apiVersion: apiVersionOf(kind), kind: kind.kind, metadata, ...content } };
}
