import { readFileSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findHome, noHome } from '../base/index.ts';

/** A directory of ours below one of the XDG specification, which says that a relative path in it is to be ignored; null where there is no home for it. */
export function xdgDirectory(env: NodeJS.ProcessEnv, variable: string, fallback: string): string | null {
  const named = env[variable];
  if (named !== undefined && isAbsolute(named)) return join(named, 'skillbox');
  const home = findHome(env);
  return home === null ? null : join(home, fallback, 'skillbox');
}

/** Where everything is kept when nobody says another place. */
export function usualDataDirectory(env: NodeJS.ProcessEnv): string {
  const directory = xdgDirectory(env, 'XDG_DATA_HOME', '.local/share');
  if (directory === null) throw noHome('Set HOME or SKILLBOX_DATA_DIR.');
  return directory;
}

/** GB-17: directories that hold the user's own skills, here and for other agents. */
export function ownSkillDirectories(env: NodeJS.ProcessEnv): string[] {
  const home = findHome(env);
  if (home === null) return [];
  return ['.skillbox/skills', '.agents/skills', '.claude/skills', '.config/gibberish/skills'].map(path =>
    join(home, path),
  );
}

/** What ships with Skillbox: found beside our own code, never by a setting. */
export function bundledDirectories(): string[] {
  const own = ownPackage();
  return own === null ? [] : [join(own.root, 'examples')];
}

/** The version of the package that this code lies in. */
export function packageVersion(): string {
  return ownPackage()?.version ?? '0.0.0-dev';
}

function ownPackage(): { root: string; version: string } | null {
  // From src/config, dist/lib/config and dist/cli.
  for (const place of ['../../', '../../../']) {
    const root = fileURLToPath(new URL(place, import.meta.url));
    const found = readPackage(root);
    if (found?.name === 'skillbox') return { root, version: found.version ?? '0.0.0-dev' };
  }
  return null;
}

function readPackage(root: string): { name?: string; version?: string } | null {
  try {
    return JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { name?: string; version?: string };
  } catch {
    return null; // not the root of a package
  }
}
