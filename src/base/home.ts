import { userInfo } from 'node:os';
import { isAbsolute } from 'node:path';
import { SkillboxError } from './errors.ts';

/** The user's home directory: by the variable, where it is a whole path, else by the system. Null: neither knows one. */
export function findHome(env: NodeJS.ProcessEnv): string | null {
  return env.HOME !== undefined && isAbsolute(env.HOME) ? env.HOME : accountHome();
}

/** The same where it cannot be done without. */
export function homeOf(env: NodeJS.ProcessEnv): string {
  const home = findHome(env);
  if (home === null) throw noHome('Set HOME.');
  return home;
}

export function noHome(hint: string): SkillboxError {
  const message = 'there is no home directory: HOME names none, and the system knows none';
  return new SkillboxError('CONFIG_INVALID', message, { hint });
}

/** Whatever the variable says. */
export function accountHome(): string | null {
  try {
    const { homedir } = userInfo();
    return isAbsolute(homedir) ? homedir : null;
  } catch {
    return null; // an account that the system does not know
  }
}
