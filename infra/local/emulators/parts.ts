import type { Part } from '../part.ts';
import { answers } from '../supervisor/readiness.ts';

/**
 * The quick compiler alone and the serial collector: half the CPU time and 60 % of the memory of the JVM's defaults
 * under a demo's load (20,000 messages, 3,000 writes), which leaves the cores to the rest of the stack.
 */
const JVM_FLAGS = ['-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC', '-Xshare:auto', '-Xms32m'];

/**
 * The Pub/Sub emulator on `port`, which must be free: on a taken port it logs the failure and hangs, for ever and
 * unready, while whoever has the port answers the probe. So the probe asks for something only Pub/Sub has.
 */
export function pubsubPart(java: string, jar: string, port: number): Part {
  return {
    name: 'pubsub',
    command: java,
    args: [...JVM_FLAGS, '-Xmx256m', '-jar', jar, '--host=127.0.0.1', `--port=${port}`],
    ready: answers(`http://127.0.0.1:${port}/v1/projects/demo-probe/topics`),
    usuallyMs: 1_000,
    whenItEnds: 'fail',
  };
}

/** The Firestore emulator on `port`. The language is fixed because error texts follow it. */
export function firestorePart(java: string, jar: string, port: number): Part {
  const main = 'com.google.cloud.datastore.emulator.firestore.CloudFirestore';
  return {
    name: 'firestore',
    command: java,
    args: [
      ...JVM_FLAGS,
      '-Xmx512m',
      '-Duser.language=en',
      '-cp',
      jar,
      main,
      'start',
      '--host=127.0.0.1',
      `--port=${port}`,
    ],
    ready: answers(`http://127.0.0.1:${port}/`),
    usuallyMs: 1_000,
    whenItEnds: 'fail',
  };
}
