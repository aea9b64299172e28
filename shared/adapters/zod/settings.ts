import { z } from 'zod';

/** The settings that forwarder and functions share, by the same names. */
export const COMMON_SETTINGS = {
  /** The id of the cluster in every message; whoever sends and whoever serves it know it by this one. */
  DRIFTLESS_CLUSTER: z.string().min(1).default('local'),
  /** Absent: the service account of the pod. */
  KUBECONFIG: z.string().min(1).optional(),
  GOOGLE_CLOUD_PROJECT: z.string().min(1),
  /** Topics are `{prefix}-changes` and `{prefix}-background`. */
  DRIFTLESS_TOPIC_PREFIX: z.string().min(1).default('driftless'),
  /** The Pub/Sub emulator, `127.0.0.1:8085`. Absent: the real service. (Firestore's is read by its library.) */
  PUBSUB_EMULATOR_HOST: z.string().min(1).optional(),
  /** The embedded stand-ins for Pub/Sub and Firestore, where no emulator is to be had. */
  DRIFTLESS_EMBEDDED_URL: z.url().optional(),
  LOG_LEVEL: z.enum(['debug', 'info', 'warn', 'error']).default('info'),
};
