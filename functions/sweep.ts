import type { HttpFunction } from '@google-cloud/functions-framework';
import { sweep as ringDueAlarms } from '../shared/reconcile/sweep.ts';
import { instance } from './instance.ts';

/** The target of Cloud Scheduler, every minute: answers with how many alarms it rang. */
export const sweep: HttpFunction = async (_request, response) => {
  const { runtime, requests } = instance();
  await requests.serve(response, async (signal) => {
    response.json({ rung: await ringDueAlarms(runtime, signal) });
  });
};
