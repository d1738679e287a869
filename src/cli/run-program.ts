import { runCommand } from './commands/run.ts';
import type { Io } from './io.ts';
import { perform, reporting } from './perform.ts';

export { processIo } from './io.ts';

/**
 * `skillbox run` as a program of its own. Built into one file: a person waits for it, and each file that Node loads costs about
 * as long as one that is twice the size.
 */
export function main([, ...words]: string[], io: Io): Promise<number> {
  return reporting(words, io, () => perform(runCommand, words, io));
}
