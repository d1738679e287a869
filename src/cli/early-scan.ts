import { statSync } from 'node:fs';
import { findHome } from '../base/index.ts';
import { isMostlyKnown, MIN_FOLDERS, type ProgramLookAhead, placesFor, programLookAhead } from '../catalog/index.ts';
import { loadConfig } from '../config/index.ts';
import { catalogDirectory } from '../disclose.ts';
import type { Io } from './io.ts';

let early: ProgramLookAhead | null = null;

/**
 * Starts to look into the first large directory that scans have not remembered, while the rest of this program is still being
 * loaded; so this is a file of its own, with little in it. It is a guess about what the command will ask for; where it is wrong, what was started ends unheard.
 */
export function startEarly(words: readonly string[], { env, cwd }: Pick<Io, 'env' | 'cwd'>): void {
  try {
    const config = loadConfig({ env });
    if (config.get('client.url') !== null) return;
    const settings = { cwd, home: findHome(env), configured: config.get('skills.directories'), bundled: [] };
    const index = catalogDirectory(config.get('data.directory'));
    const place = placesFor({ ...settings, named: directoriesIn(words) }).find(({ path }) => {
      const folders = foldersIn(path);
      return folders >= MIN_FOLDERS && !isMostlyKnown(index, path, folders);
    });
    if (place === undefined) return;
    early = programLookAhead();
    early?.start(place.path);
  } catch {
    // Whatever is wrong, the command meets it too, and says it.
  }
}

/** What was started, for the one who uses and closes it. */
export function takeEarly(): ProgramLookAhead | null {
  const taken = early;
  early = null;
  return taken;
}

function directoriesIn(words: readonly string[]): string[] {
  return words.flatMap((word, at) => {
    if (word.startsWith('--dir=')) return [word.slice('--dir='.length)];
    return word === '--dir' ? words.slice(at + 1, at + 2) : [];
  });
}

/** Most file systems count the folders in a directory as links to it; where one does not, the scan finds out in its time. */
function foldersIn(path: string): number {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats?.isDirectory() ? stats.nlink - 2 : 0;
}
