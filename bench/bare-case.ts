// Bare processes, started from a process that holds nothing else: to start one takes the longer, the more memory the starter has.
import { ended } from './measure.ts';

export type BareQuestion = { command: string[]; env: NodeJS.ProcessEnv; atOnce: number; forMs: number };
export type BareAnswer = { ms: number; done: number };

/** As often as it goes in this time, and once at least. */
async function run({ command, env, atOnce, forMs }: BareQuestion): Promise<BareAnswer> {
  const start = performance.now();
  let done = 0;
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      do {
        await ended(command, env);
        done++;
      } while (performance.now() - start < forMs);
    }),
  );
  return { ms: performance.now() - start, done };
}

process.on('message', (question: BareQuestion) => {
  run(question).then(
    answer => process.send?.(answer),
    (error: unknown) => {
      process.stderr.write(`${String(error)}\n`);
      process.exit(1);
    },
  );
});
