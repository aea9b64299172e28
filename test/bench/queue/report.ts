import { measureAlarms } from './alarms.ts';
import { type Cycles, describeCycles, measureCycles } from './cycles.ts';
import { measureHotObject } from './hot-object.ts';
import { openBench } from './store.ts';

/** The work queue on the Firestore emulator. */
export async function benchQueue(say: (text: string) => void): Promise<object> {
  const bench = await openBench();
  try {
    await measureCycles(bench, 8, 3); // The emulator's and our own code get warm.
    const cycles: Cycles[] = [];
    for (const concurrency of [1, 8, 64]) {
      const measured = await measureCycles(bench, concurrency, 15);
      say(describeCycles(measured));
      cycles.push(measured);
    }
    const hotObject = await measureHotObject(bench, 64, 10);
    say(
      `${hotObject.contenders} contenders for one object: ${hotObject.right} of ${hotObject.rounds} rounds right, ` +
        `${hotObject.errors} errors, the last answered after ${Math.round(hotObject.slowestMs)} ms`,
    );
    const alarms = await measureAlarms(bench, 5_000);
    say(
      `${alarms.alarms} alarms due at once: ${Math.round(alarms.perSecond)}/s, ${alarms.twice} rung twice; ` +
        `one alone is ${alarms.aloneLateMs} ms late`,
    );
    return { cycles, hotObject, alarms };
  } finally {
    await bench.close();
  }
}
