import type { Io } from './io.ts';
import { perform, reporting } from './perform.ts';
import { endShortLife, expectShortLife } from './short-lived.ts';

export { processIo } from './io.ts';

/** `skillbox catalog` as a program of its own, in few files like `run`: an agent waits for it whenever it starts. */
export async function main([, ...words]: string[], io: Io): Promise<number> {
  expectShortLife();
  const { catalog } = await import('./commands/catalog.ts');
  const code = await reporting(words, io, () => perform(catalog, words, io));
  endShortLife();
  return code;
}
