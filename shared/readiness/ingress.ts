import type { Ingress } from '../kube/builtin.ts';
import type { ObjectOf } from '../kube/kind.ts';
import { MISSING, type Readiness } from './readiness.ts';

/** Whether an Ingress can be reached: an ingress controller has given it an address. */
export function ingressReadiness(ingress: ObjectOf<typeof Ingress> | undefined): Readiness {
  if (ingress === undefined) return MISSING;
  const addresses = ingress.status?.loadBalancer?.ingress ?? [];
  const [address] = addresses.flatMap(({ ip, hostname }) => hostname ?? ip ?? []);
  return address === undefined
    ? { state: 'progressing', message: 'no ingress controller has given it an address yet' }
    : { state: 'ready', message: `it has the address ${address}` };
}
