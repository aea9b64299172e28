/** The broker of the random worlds: whatever was published, in the order in which the world likes to deliver it. */
import type { Doorbell } from '../../shared/message/doorbell.ts';

export interface Message {
  readonly id: string;
  readonly doorbell: Doorbell;
}

export class Messages {
  waiting: readonly Message[] = [];
  readonly #settled: Message[] = [];
  /** Whether one was lost that nothing but a census can make up for. */
  hasLost: boolean = false;

  add(message: Message): void {
    this.waiting = [...this.waiting, message];
  }

  take(n: number): Message | undefined {
    const message = nth(this.waiting, n);
    this.#remove(message);
    return message;
  }

  /** A message that was answered: it may be forgotten, or has to come again. */
  answered(message: Message, ack: boolean): void {
    if (ack) this.#settled.push(message);
    else this.add(message);
  }

  /** A message comes once more that was acknowledged, or is being worked on. */
  repeat(n: number, out: readonly Message[]): Message | undefined {
    const message = nth([...this.#settled, ...out], n);
    if (message !== undefined) this.add(message);
    return message;
  }

  /** A message is lost that a census can make up for; the deletion of an object leaves nothing to find it by. */
  lose(n: number): Message | undefined {
    const losable = this.waiting.filter(({ doorbell }) => doorbell.deleted !== true);
    const message = nth(losable, n);
    this.hasLost ||= message !== undefined;
    this.#remove(message);
    return message;
  }

  #remove(message: Message | undefined): void {
    const at = message === undefined ? -1 : this.waiting.indexOf(message);
    this.waiting = this.waiting.filter((_, i) => i !== at);
  }
}

export function nth<T>(all: readonly T[], n: number): T | undefined {
  return all[n % Math.max(1, all.length)];
}
