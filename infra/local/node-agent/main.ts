/**
 * Pretends to be a node, its kubelet, the scheduler and an ingress controller, so that workloads become ready on a
 * control plane that has none of them. Nothing is really run.
 *
 * Setting: KUBECONFIG, as written by `formatKubeconfig`. It serves until it is ended; SIGTERM ends it at once.
 */
import { readFileSync } from 'node:fs';
import { connect } from '../control-plane/api-connection.ts';
import { parseKubeconfig } from '../control-plane/kubeconfig.ts';
import { follow } from './follow.ts';
import { giveAddress } from './ingresses.ts';
import { log } from './log.ts';
import { keepNodeReady } from './node.ts';
import { newPodRunner } from './pods.ts';

const { KUBECONFIG = '' } = process.env;
const api = connect(parseKubeconfig(readFileSync(KUBECONFIG, 'utf8')));
const pods = newPodRunner(api, log);

process.once('SIGTERM', () => process.exit(0));

await Promise.all([
  keepNodeReady(api, log),
  follow({ api, log, path: '/api/v1/pods', ...pods }),
  follow({
    api,
    log,
    path: '/apis/networking.k8s.io/v1/ingresses',
    handle: (ingress) => giveAddress(api, ingress),
  }),
]);
