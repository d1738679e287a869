import { setFlagsFromString } from 'node:v8';
import type { Io } from './io.ts';
import { perform, reporting } from './perform.ts';

export { processIo } from './io.ts';

/**
 * For a process that ends within a second. Nearly everything that a scan makes is kept to its end, so V8 would give new objects
 * more and more room, twice over, would copy them with several threads that mostly wait, and would look through all of them, beside
 * us, for what can go, which is next to nothing; and code that it takes the time to optimise to the last has no time left to make
 * up for it.
 */
const SHORT_LIVED = '--semi-space-growth-factor=1 --no-parallel-scavenge --no-incremental-marking --no-opt';

/** `skillbox catalog` as a program of its own, in one file like `run`: an agent waits for it whenever it starts. */
export async function main([, ...words]: string[], io: Io): Promise<number> {
  setFlagsFromString(SHORT_LIVED);
  const { catalog } = await import('./commands/catalog.ts');
  return reporting(words, io, () => perform(catalog, words, io));
}
