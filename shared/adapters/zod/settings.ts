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
  /** The Pub/Sub emulator, `127.0.0.1:8085`. Absent: the real service. */
  PUBSUB_EMULATOR_HOST: z.string().min(1).optional(),
  /** The Firestore emulator, `127.0.0.1:8080`. Absent: the real service. Its library reads this itself. */
  FIRESTORE_EMULATOR_HOST: z.string().min(1).optional(),
  /** Of the project: all work items are in this one. */
  DRIFTLESS_FIRESTORE_DATABASE: z.string().min(1).default('(default)'),
  /**
   * How calls travel to the real service. `rest` spares a cold start some 70 of 500 ms of processor time, and makes each
   * call of a warm instance 1.6 times as dear: for functions that are called now and then.
   */
  DRIFTLESS_FIRESTORE_TRANSPORT: z.enum(['grpc', 'rest']).default('grpc'),
  /** The embedded stand-ins for Pub/Sub and Firestore, where no emulator is to be had. */
  DRIFTLESS_EMBEDDED_URL: z.url().optional(),
  LOG_LEVEL: z.enum(['debug', 'info', 'warn', 'error']).default('info'),
};
