/**
 * Strict mode, in the API server's words: who the functions are there, how a write says whose it is, and where the holders
 * stand whose lease was taken over. Adapter, policy and permissions must agree on it.
 */

/** Namespace and name of the ConfigMap with the fence: holderIdentity → epoch milliseconds. */
export const FENCE = { namespace: 'driftless-system', name: 'driftless-fence' } as const;

/** The user that the functions act as. All that they may do is granted to it, and nothing to whoever they are. */
export const FENCED_USER = 'driftless-worker';

/** The key in the user's `extra` that carries the holderIdentity. */
export const HOLDER_EXTRA = 'driftless-holder';

/** How the policy refuses a write of somebody on the fence. */
export const FENCED = 'the lease of this holder was taken over';

/** How it refuses a write that does not say whose it is. */
export const NAMELESS = 'a write of the functions names its holder';
