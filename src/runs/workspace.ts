import { existsSync, realpathSync, statSync } from 'node:fs';
import { relative } from 'node:path';
import { accountHome, findHome, SkillboxError } from '../base/index.ts';

/**
 * The real path of the directory that a run may work in. GB-11: the user's home is never mounted, nor is what holds it;
 * neither is Skillbox's own data, where a run could change what the next one executes.
 */
export function checkWorkspace(path: string, dataDirectory: string): string {
  if (!existsSync(path)) throw new SkillboxError('NOT_FOUND', `there is no workspace ${path}`);
  const real = realpathSync(path);
  if (!statSync(real).isDirectory()) throw new SkillboxError('USAGE', `the workspace ${path} is not a directory`);
  if (holdsHome(real)) refuse(path, 'holds your home directory');
  const data = realpathSync(dataDirectory);
  if (contains(real, data) || contains(data, real)) refuse(path, 'holds the data of Skillbox, or lies in it');
  return real;
}

/** By the variable and by the system: whoever sets HOME must not move the border. */
export function holdsHome(real: string): boolean {
  return [findHome(process.env), accountHome()].some(
    home => home !== null && existsSync(home) && contains(real, realpathSync(home)),
  );
}

function refuse(path: string, why: string): never {
  throw new SkillboxError('USAGE', `the workspace ${path} ${why}`, {
    hint: 'Name a directory inside it that holds only what the skill works on.',
  });
}

function contains(outer: string, inner: string): boolean {
  const way = relative(outer, inner);
  return way === '' || (!way.startsWith('../') && way !== '..');
}
