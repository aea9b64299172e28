import { z } from 'zod';
import type { Proving } from '../prove/shared-stack.ts';

/** A claim of a work item, as its holder logged it before the run began. */
export interface LoggedClaim {
  /** Of this claim alone; a run that runs once more goes on under it. */
  readonly holderIdentity: string;
  /** `default/web` */
  readonly item: string;
  /** The first one: a later claim of the item has a higher one. */
  readonly token: number;
  /** Epoch milliseconds: a little later than the claim was stored. */
  readonly at: number;
}

const Claimed = z.object({
  message: z.literal('doorbell answered'),
  decision: z.literal('claimed'),
  holderIdentity: z.string(),
  namespace: z.string(),
  name: z.string(),
  token: z.number(),
  time: z.iso.datetime(),
});

/** Every claim that these log lines tell of. */
export function claimsIn(lines: Proving['lines']): readonly LoggedClaim[] {
  return lines.flatMap(({ line }) => {
    if (!line.includes('"claimed"')) return [];
    const { holderIdentity, namespace, name, token, time } = Claimed.parse(JSON.parse(line));
    return [{ holderIdentity, item: `${namespace}/${name}`, token, at: Date.parse(time) }];
  });
}
