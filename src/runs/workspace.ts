import { existsSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { accountHome, findHome, SkillboxError } from '../base/index.ts';

/** What no workspace may hold: Skillbox's own data, and the files that decide what runs and with which keys. */
export type OffLimits = { data: string; deciding: readonly string[] };

const INSIDE = 'Name a directory inside it that holds only what the skill works on.';
const ASIDE = 'Copy what the skill is to work on into a directory of its own.';
/** Directories that are the system's, and those of which everything inside is, too. */
const SYSTEM =
  /^\/(bin|dev|home|lib\w*|opt|run|sbin|usr|usr\/(local\/)?(bin|include|lib\w*|libexec|sbin|share)|usr\/local|var|var\/(cache|lib|log|spool))$/;
const WHOLLY_SYSTEM = /^\/(boot|dev(?!\/shm\/)|etc|proc|sys)(\/|$)/;

/**
 * The real path of the directory that a run may work in. GB-11: the user's home is never mounted, nor is what holds it; neither
 * is Skillbox's own data, where a run could change what the next one executes, nor a policy, with which it could allow itself all.
 */
export function checkWorkspace(path: string, offLimits: OffLimits): string {
  if (!existsSync(path)) throw new SkillboxError('NOT_FOUND', `there is no workspace ${path}`);
  const real = realpathSync(path);
  if (!statSync(real).isDirectory()) throw new SkillboxError('USAGE', `the workspace ${path} is not a directory`);
  const unfit = whyUnfit(real, offLimits);
  if (unfit === null) return real;
  throw new SkillboxError('USAGE', `the workspace ${path} ${unfit.why}`, { hint: unfit.hint });
}

/** Why a run must not have it, whatever anybody allows; null when it may. */
export function whyUnfit(real: string, { data, deciding }: OffLimits): { why: string; hint: string } | null {
  if (holdsHome(real)) return { why: 'holds your home directory', hint: INSIDE };
  if (WHOLLY_SYSTEM.test(real)) return { why: 'is part of the system', hint: ASIDE };
  if (SYSTEM.test(real)) return { why: 'is part of the system', hint: INSIDE };
  // Threat: the folder of hooks itself, of which no mount inside could protect anything.
  if (real.split('/').includes('.git')) return { why: 'lies in a git directory', hint: ASIDE };
  const kept = realpathSync(data);
  if (contains(real, kept) || contains(kept, real))
    return { why: 'holds the data of Skillbox, or lies in it', hint: INSIDE };
  if (deciding.flatMap(placesOf).some(file => contains(real, file)))
    return { why: 'holds the settings of Skillbox, or its policy or keys', hint: INSIDE };
  return null;
}

/** Where a file is or would be: as it is named, and where links lead. */
function placesOf(file: string): string[] {
  const places = [file];
  for (
    let above = file, below = '';
    above !== dirname(above);
    below = join(basename(above), below), above = dirname(above)
  ) {
    if (!existsSync(above)) continue;
    places.push(join(realpathSync(above), below));
    if (below !== '') break;
  }
  return places;
}

/** By the variable and by the system: whoever sets HOME must not move the border. */
export function holdsHome(real: string): boolean {
  return [findHome(process.env), accountHome()].some(
    home => home !== null && existsSync(home) && contains(real, realpathSync(home)),
  );
}

export function contains(outer: string, inner: string): boolean {
  const way = relative(outer, inner);
  return way === '' || (!way.startsWith('../') && way !== '..');
}
