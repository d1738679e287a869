import { posix } from 'node:path';
import { PATHS } from '../runtime.ts';

/** GB-10: where a command's program is looked for. */
export type Program =
  | { kind: 'path'; name: string }
  /** A file of the skill, by its path in the skill. */
  | { kind: 'skill'; path: string }
  /** A file under the working directory, as in `node_modules/.bin/eslint`. */
  | { kind: 'workspace'; path: string }
  | { kind: 'absolute'; path: string }
  | { kind: 'outside' };

export function locateProgram(program: string): Program {
  if (!program.includes('/')) return { kind: 'path', name: program };
  if (program.startsWith('/')) return { kind: 'absolute', path: posix.normalize(program) };
  const path = posix.normalize(program);
  // `./` and `../x` name no file in the folder: the threat is a skill that starts what lies beside it.
  if (path === '.' || path === '..' || path.startsWith('../') || path.endsWith('/')) return { kind: 'outside' };
  return program.startsWith('./') || program.startsWith('scripts/')
    ? { kind: 'skill', path }
    : { kind: 'workspace', path };
}

/** The same as argv[0] inside the sandbox; null when it leads out. */
export function programPath(program: string): string | null {
  const found = locateProgram(program);
  switch (found.kind) {
    case 'path':
      return found.name;
    case 'absolute':
      return found.path;
    case 'skill':
      return `${PATHS.skill}/${found.path}`;
    case 'workspace':
      return `${PATHS.workspace}/${found.path}`;
    case 'outside':
      return null;
  }
}
