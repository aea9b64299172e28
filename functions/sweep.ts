import type { HttpFunction } from '@google-cloud/functions-framework';
import { sweep } from '../shared/reconcile/sweep.ts';
import type { Instance } from './instance.ts';

/** The target of Cloud Scheduler, every minute: answers with how many alarms it rang. */
export function sweepWith({ runtime, requests }: Instance): HttpFunction {
  return async (_request, response) => {
    await requests().serve(response, async (signal) => {
      response.json({ rung: await sweep(runtime, signal) });
    });
  };
}
