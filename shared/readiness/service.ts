import type { Service } from '../kube/builtin.ts';
import type { ObjectOf } from '../kube/kind.ts';
import { MISSING, type Readiness } from './readiness.ts';

/** Whether a Service can be reached: it has a cluster IP, or is headless (`None`). */
export function serviceReadiness(service: ObjectOf<typeof Service> | undefined): Readiness {
  if (service === undefined) return MISSING;
  const address = service.spec?.clusterIP ?? '';
  return address === ''
    ? { state: 'progressing', message: 'it has no cluster IP yet' }
    : { state: 'ready', message: `it has the cluster IP ${address}` };
}
