import type { Controller } from '../../shared/reconcile/controller.ts';
import { webApp } from './webapp/controller.ts';

/** Every operator of this fleet. CRDs, watches and permissions are derived from this list. */
export const controllers: readonly Controller[] = [webApp];
