import type { Io } from './io.ts';
import { perform, reporting } from './perform.ts';
import { expectShortLife } from './short-lived.ts';

export { processIo } from './io.ts';

/** `skillbox catalog` as a program of its own, in one file like `run`: an agent waits for it whenever it starts. */
export async function main([, ...words]: string[], io: Io): Promise<number> {
  expectShortLife();
  const { catalog } = await import('./commands/catalog.ts');
  return reporting(words, io, () => perform(catalog, words, io));
}
