/** A thread that tries random worlds: the test runner follows every promise in its own thread, which takes time. */
import { parentPort, workerData } from 'node:worker_threads';
import { type Batch, tryWorlds } from './random-runs.ts';

// Errors are a part of these worlds, and nobody reads where they were made.
Error.stackTraceLimit = 0;
parentPort?.postMessage(await tryWorlds(workerData as Batch));
