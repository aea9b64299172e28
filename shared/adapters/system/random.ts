import { randomUUID } from 'node:crypto';
import type { Random } from '../../ports/random.ts';

/** Chance as this machine has it. */
export class SystemRandom implements Random {
  fraction(): number {
    return Math.random();
  }

  id(): string {
    return randomUUID();
  }
}
