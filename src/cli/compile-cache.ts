import { dirname, isAbsolute, join } from 'node:path';

/**
 * Taken when they are used: a Node that is too old to have any of this must still get as far as saying so. And not imported,
 * for by that Node would load all that these modules could ever need, which takes longer than everything else here.
 */
const fs = () => process.getBuiltinModule('node:fs');

/**
 * V8 keeps what it made of our code, so that the next start need not make it again. What is in that directory becomes code of
 * this process, so it is used only where nobody else could have put it: every directory up to the root must be ours or
 * root's, and writable by nobody else. It only saves time: whatever is wrong with it, the program starts without it. Answers the directory.
 */
export function useCompileCache(env: NodeJS.ProcessEnv): string | null {
  // Set by the user, it is Node's own affair.
  if (env.NODE_COMPILE_CACHE !== undefined || env.NODE_DISABLE_COMPILE_CACHE !== undefined) return null;
  const named = env.XDG_CACHE_HOME ?? '';
  const base = isAbsolute(named) ? named : join(env.HOME ?? '', '.cache');
  const me = process.geteuid?.();
  if (me === undefined || !isAbsolute(base)) return null;
  const directory = join(base, 'skillbox', `compile-${process.versions.node}`);
  try {
    if (!isOurs(directory, me, true)) {
      // Root makes nothing in somebody else's home: its owner could not use it, and would choose where a link leads.
      if (!isOurs(nearest(directory), me, false)) return null;
      makeInside(base, ['skillbox', `compile-${process.versions.node}`]);
      if (!isOurs(directory, me, true)) return null;
    }
    process.getBuiltinModule('node:module').enableCompileCache(directory);
    return directory;
  } catch {
    return null; // no home, no space, a file in its place: slower, and otherwise the same
  }
}

/** Step by step: Node's own way to make a path whole does not end where the file system allows none of it. */
function makeInside(base: string, names: readonly string[]): void {
  let at = base;
  if (!fs().existsSync(at)) fs().mkdirSync(at, { mode: 0o700 });
  for (const name of names) {
    at = join(at, name);
    if (!fs().existsSync(at)) fs().mkdirSync(at, { mode: 0o700 });
  }
}

/** What there is of the way to it. */
function nearest(path: string): string {
  let at = path;
  while (fs().lstatSync(at, { throwIfNoEntry: false }) === undefined && at !== dirname(at)) at = dirname(at);
  return at;
}

/** `own`: the last one must be ours and not root's, and sticky is not enough for it. */
function isOurs(directory: string, me: number, own: boolean): boolean {
  for (let at = directory, first = own; ; at = dirname(at), first = false) {
    const found = fs().lstatSync(at, { throwIfNoEntry: false });
    if (found === undefined || !found.isDirectory()) return false;
    if (found.uid !== me && (first || found.uid !== 0)) return false;
    // A sticky directory such as /tmp lets nobody rename what is not his.
    if ((found.mode & 0o022) !== 0 && (first || (found.mode & 0o1000) === 0)) return false;
    if (at === dirname(at)) return true;
  }
}
