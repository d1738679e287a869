import { catalog } from './commands/catalog.ts';
import type { Io } from './io.ts';
import { perform, reporting } from './perform.ts';

export { processIo } from './io.ts';

/** `skillbox catalog` as a program of its own, in one file like `run`: an agent waits for it whenever it starts. */
export function main([, ...words]: string[], io: Io): Promise<number> {
  return reporting(words, io, () => perform(catalog, words, io));
}
