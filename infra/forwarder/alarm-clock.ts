import { createGuard } from '../../shared/adapters/cockatiel/guard.ts';
import { EmbeddedAlarmSource } from '../../shared/adapters/embedded/alarm-source.ts';
import { openFirestoreAlarmSource } from '../../shared/adapters/firestore/alarm-source.ts';
import type { AlarmSource } from '../../shared/ports/alarm-source.ts';
import type { Publisher } from '../../shared/ports/broker.ts';
import type { Clock } from '../../shared/ports/clock.ts';
import type { Logger } from '../../shared/ports/logger.ts';
import type { Random } from '../../shared/ports/random.ts';
import { AlarmClock, type AlarmClockStats } from '../../shared/queue/alarm-clock.ts';
import type { TenantBudgets } from '../../shared/queue/tenant-budgets.ts';
import { firestoreOf } from '../../shared/roots/backends.ts';
import type { ForwarderConfig } from './config.ts';

export interface HostedAlarmClock {
  /** Loads the store's library; rings only once `run`. */
  prepare(): Promise<void>;
  /** Rings until `signal` aborts, and what is under way then. */
  run(signal: AbortSignal): Promise<void>;
  /** Undefined when the alarm clock is off. */
  stats(): AlarmClockStats | undefined;
  close(): Promise<void>;
}

export interface HostOptions {
  readonly publisher: Publisher;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Rings every object. */
  readonly ringAll: () => void;
  readonly budgets: TenantBudgets;
}

/** The alarm clock as the settings say; when it is off, one that does nothing. */
export function hostAlarmClock(config: ForwarderConfig, { ringAll, ...options }: HostOptions): HostedAlarmClock {
  if (config.DRIFTLESS_ALARM_CLOCK === 'off') return OFF;
  const source = openSource(config);
  const alarms = new AlarmClock({
    ...options,
    source,
    ringsPerSecond: config.DRIFTLESS_ALARMS_PER_SECOND,
    onGap: ringAll,
  });
  return {
    prepare: async () => await source.prepare?.(),
    run: (signal) => alarms.run(signal),
    stats: () => alarms.stats(),
    close: () => source.close(),
  };
}

const OFF: HostedAlarmClock = {
  prepare: async () => undefined,
  run: async () => undefined,
  stats: () => undefined,
  close: async () => undefined,
};

function openSource(config: ForwarderConfig): AlarmSource & { prepare?(): Promise<void>; close(): Promise<void> } {
  const { DRIFTLESS_EMBEDDED_URL: url, DRIFTLESS_CLUSTER: cluster } = config;
  if (url !== undefined) return new EmbeddedAlarmSource({ url, cluster });
  return openFirestoreAlarmSource({
    ...firestoreOf(config),
    cluster,
    changes: config.FIRESTORE_EMULATOR_HOST === undefined ? 'listen' : 'poll',
    // Retries of long outages are the alarm clock's.
    guard: createGuard({ name: 'Firestore', timeoutMs: 5_000 }),
  });
}
