import type { HttpFunction } from '@google-cloud/functions-framework';
import { InvalidMessageError, messageOf, OperatorError } from '../shared/errors.ts';
import { type Delivery, decodePush, type PushRequest } from '../shared/message/push.ts';
import { reconcileOnce } from '../shared/reconcile/run.ts';
import type { Runtime } from '../shared/reconcile/runtime.ts';
import type { Instance } from './instance.ts';

/**
 * The target of the push subscriptions: one message in, one answer to the broker out.
 *
 * 204 acknowledges. 400 is a message that nobody can ever decode, 409 one that must come again later, 429 one for which
 * there is no room here, 503 a store that is away: the subscription's retry policy and its dead letter do the rest.
 */
export function reconcileWith({ runtime, turns, requests }: Instance): HttpFunction {
  return async (request, response) => {
    const hungUp = new AbortController();
    response.once('close', () => hungUp.abort());
    await requests().serve(response, async (signal) => {
      const delivery = decode({ headers: request.headers, body: request.body }, runtime);
      const status =
        delivery === undefined
          ? 400
          : await turns.take(delivery, hungUp.signal, () => answer(delivery, runtime, signal));
      response.status(status ?? 429).end();
    });
  };
}

function decode(request: PushRequest, { log }: Runtime): Delivery | undefined {
  try {
    return decodePush(request);
  } catch (error) {
    if (!(error instanceof InvalidMessageError)) throw error;
    log.error('message cannot be decoded', { error: error.message });
    return undefined;
  }
}

async function answer(delivery: Delivery, runtime: Runtime, signal: AbortSignal): Promise<number> {
  try {
    const outcome = await reconcileOnce(delivery, runtime, signal);
    return outcome.ack ? 204 : 409;
  } catch (error) {
    const { doorbell, messageId, deliveryAttempt } = delivery;
    runtime.log.error('delivery failed', {
      ...doorbell.key,
      messageId,
      deliveryAttempt,
      code: error instanceof OperatorError ? error.code : 'UNEXPECTED',
      error: messageOf(error),
    });
    return 503;
  }
}
