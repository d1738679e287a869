import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { SkillboxError } from './base/index.ts';

/** Where Skillbox keeps what it must remember: runs, snapshots, blobs, layers. */
export function dataDirectory(env: NodeJS.ProcessEnv): string {
  return chosen(env, 'SKILLBOX_DATA_DIR', 'XDG_DATA_HOME', '.local/share');
}

function chosen(env: NodeJS.ProcessEnv, own: string, xdg: string, fallback: string): string {
  const given = env[own];
  if (given !== undefined && given !== '') {
    if (isAbsolute(given)) return given;
    throw new SkillboxError('USAGE', `${own} is "${given}", which is not an absolute path`);
  }
  // The XDG specification says that a relative path is to be ignored.
  const base = env[xdg];
  return join(base !== undefined && isAbsolute(base) ? base : join(homedir(), fallback), 'skillbox');
}
