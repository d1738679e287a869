import { runCommand } from './commands/run.ts';
import { closeEarly } from './early-run.ts';
import type { Io } from './io.ts';
import { perform, reporting } from './perform.ts';

export { processIo } from './io.ts';

/**
 * `skillbox run` as a program of its own, in few files: a person waits for it, and each file that Node loads costs about as long as one
 * that is twice the size. scripts/build-run.mjs says what is in which.
 */
export function main([, ...words]: string[], io: Io): Promise<number> {
  return reporting(words, io, async () => {
    try {
      return await perform(runCommand, words, io);
    } finally {
      await closeEarly();
    }
  });
}
