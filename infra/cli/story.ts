import pc from 'picocolors';
import { z } from 'zod';

/**
 * Tells the way of each event from the structured logs of the parts: watch → message → claim → calls with diffs →
 * status. It shows what the parts said, and nothing that they did not say.
 */

const Published = z.object({
  message: z.literal('doorbell published'),
  trigger: z.string(),
  topic: z.string(),
  messageId: z.string(),
  lagMs: z.number(),
});

const Answered = z.object({ message: z.literal('doorbell answered'), trigger: z.string(), decision: z.string() });

// What is undefined does not stand in JSON.
const Field = z.object({ path: z.string(), have: z.unknown().optional(), want: z.unknown().optional() });
const Write = z.object({
  verb: z.enum(['create', 'apply', 'delete', 'status']),
  object: z.string(),
  fields: z.array(Field),
  durationMs: z.number(),
  error: z.string().optional(),
});

const Finished = z.object({
  message: z.literal('run finished'),
  trigger: z.string(),
  messageId: z.string(),
  token: z.number(),
  durationMs: z.number(),
  outcome: z.string(),
  next: z.string(),
  writes: z.array(Write),
  error: z.object({ code: z.string(), message: z.string() }).optional(),
});

const Line = z.discriminatedUnion('message', [Published, Answered, Finished]);

/** Whether a log line of a part belongs to the story. */
export function isStory(logLine: string): boolean {
  return Line.safeParse(parseJson(logLine)).success;
}

/**
 * Turns log lines into lines for people.
 *
 * What needed no run is counted and told in one line, together with the next thing that happens: a rollout changes a
 * Deployment many times, and nobody wants to read that each time.
 */
export class Story {
  readonly #answers = new Map<string, number>();

  /** The lines to show after one more log line of a part; none when it is not part of the story. */
  hear(logLine: string): readonly string[] {
    const parsed = Line.safeParse(parseJson(logLine));
    if (!parsed.success) return [];
    const line = parsed.data;
    if (line.message === 'doorbell answered') {
      if (line.decision === 'claimed') return []; // Told when the run has finished.
      this.#answers.set(line.decision, (this.#answers.get(line.decision) ?? 0) + 1);
      return [];
    }
    return [...this.rest(), ...tell(line)];
  }

  /** What was counted and not told yet. */
  rest(): readonly string[] {
    const told = [...this.#answers].map(([decision, n]) => `${n} × ${ANSWERS[decision] ?? decision}`);
    this.#answers.clear();
    return told.length === 0 ? [] : [`${label('answer', pc.dim)} ${told.join(', ')}`];
  }
}

function tell(line: z.infer<typeof Published> | z.infer<typeof Finished>): readonly string[] {
  switch (line.message) {
    case 'doorbell published':
      return [
        `${label('watch', pc.cyan)} ${line.trigger} ${pc.dim('→')} message ${line.messageId} to ${line.topic} ${ms(line.lagMs)}`,
      ];
    case 'run finished':
      return [
        `${label('claim', pc.yellow)} token ${line.token} for message ${line.messageId} (${line.trigger})`,
        ...line.writes.flatMap(tellWrite),
        ...(line.error === undefined ? [] : [`${label('error', pc.red)} ${line.error.code}: ${line.error.message}`]),
        `${label('done', pc.green)} ${line.outcome}, then ${NEXT[line.next] ?? line.next} ${ms(line.durationMs)}`,
      ];
  }
}

const ANSWERS: Readonly<Record<string, string>> = {
  dirty: 'the object is being worked on, and will be looked at again',
  'no-news': 'no news (one read)',
  quarantined: 'quarantined until its spec changes',
  throttled: 'runs too often, and waits for its next run',
  'backing-off': 'its processes die, and it waits',
  redelivered: 'still being worked on, come again',
};

const NEXT: Readonly<Record<string, string>> = {
  idle: 'idle',
  rerun: 'once more, because news came meanwhile',
  ring: 'rung again, because news came meanwhile',
  wake: 'an alarm',
  quarantined: 'quarantine until the spec changes',
  gone: 'forgotten: the object is gone',
};

function tellWrite({ verb, object, fields, durationMs, error }: z.infer<typeof Write>): readonly string[] {
  const refused = error === undefined ? '' : pc.red(` refused: ${error}`);
  const head =
    verb === 'status'
      ? `${label('status', pc.magenta)} ${object} ${ms(durationMs)}${refused}`
      : `${label('call', pc.blue)} ${verb} ${object} ${ms(durationMs)}${refused}`;
  return [head, ...fields.flatMap(tellField)];
}

/** More than this does not fit on a line of a terminal. */
const WIDE = 80;

function tellField({ path, have, want }: z.infer<typeof Field>): readonly string[] {
  const [before, after] = [value(have), value(want)];
  const indent = ' '.repeat(12);
  if (path.length + before.length + after.length <= WIDE) return [`${indent}${path}: ${before} → ${after}`];
  return [`${indent}${path}`, `${indent}${pc.red('-')} ${before}`, `${indent}${pc.green('+')} ${after}`];
}

function label(word: string, colour: (text: string) => string): string {
  return `  ${colour(word.padEnd(9))}`;
}

function ms(duration: number): string {
  return pc.dim(`(${duration < 10 ? duration.toFixed(1) : Math.round(duration)} ms)`);
}

function value(of: unknown): string {
  if (of === undefined || of === null) return pc.dim('none');
  return typeof of === 'string' ? of : JSON.stringify(of);
}

function parseJson(text: string): unknown {
  if (!text.startsWith('{')) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // A line of a part that does not log JSON; its log file has it.
  }
}
