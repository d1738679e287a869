import { existsSync, realpathSync, statSync } from 'node:fs';
import { relative } from 'node:path';
import { SkillboxError } from '../base/index.ts';
import { isOwnPlace, type Protection, type SandboxMount } from '../sandbox/index.ts';
import { comparePaths } from '../skill/index.ts';
import { contains, type OffLimits, whyUnfit } from './workspace.ts';

/**
 * WS-10, GB-11: a single path of the host that the caller gives to one run. In the workspace: a hidden file to be read, a protected
 * one to be written. Elsewhere: a file or folder that is mounted where it lies.
 */
export type GivenPath = { path: string; writable: boolean };

const MAX_PATHS = 32;

/** Real paths in their order, each once. What is refused as a workspace is refused here too. */
export function checkPaths(
  wished: readonly GivenPath[],
  workspace: { path: string; writable: boolean } | null,
  offLimits: OffLimits,
): GivenPath[] {
  if (wished.length > MAX_PATHS)
    throw new SkillboxError('USAGE', `a run is given ${MAX_PATHS} paths at most; these are ${wished.length}`, {
      hint: 'Give the folder that holds them.',
    });
  const found = new Map<string, boolean>();
  for (const { path, writable } of wished) {
    const real = checkPath(path, workspace?.path ?? null, offLimits);
    if (writable && workspace?.writable === false && contains(workspace.path, real))
      throw new SkillboxError('USAGE', `${path} cannot be written: the workspace is read-only for this run`);
    found.set(real, writable || (found.get(real) ?? false));
  }
  return [...found].map(([path, writable]) => ({ path, writable })).sort((a, b) => comparePaths(a.path, b.path));
}

function checkPath(path: string, workspace: string | null, offLimits: OffLimits): string {
  if (!existsSync(path)) throw new SkillboxError('NOT_FOUND', `there is no ${path} to give to the run`);
  const real = realpathSync(path);
  const stats = statSync(real);
  if (!stats.isFile() && !stats.isDirectory())
    throw new SkillboxError('USAGE', `${path} is neither a file nor a folder`);
  if (workspace !== null && contains(real, workspace))
    throw new SkillboxError('USAGE', `${path} is the workspace, or holds it`, {
      hint: 'Name what in it is hidden or protected, such as .env.',
    });
  // A path inside of the workspace's own repository unlocks just that; where it lies was judged with the workspace.
  const unfit = workspace !== null && contains(workspace, real) ? null : whyUnfit(real, offLimits);
  if (unfit === null) return real;
  throw new SkillboxError('USAGE', `${path} cannot be given to a run: it ${unfit.why}`, { hint: unfit.hint });
}

/** Relative to the workspace: what is shown there in spite of the rule, and what may be changed. */
export function protectionOf(paths: readonly GivenPath[], workspace: string): Protection {
  const inside = paths
    .filter(({ path }) => contains(workspace, path))
    .map(({ path, writable }) => ({ path: relative(workspace, path), writable }));
  return {
    reveal: inside.map(({ path }) => path),
    unlock: inside.filter(({ writable }) => writable).map(({ path }) => path),
  };
}

/**
 * The others, each where it lies on the host, so that a path in an argument means the same inside. Nothing is executed from there,
 * and what is secret or obeyed in a folder stays so: that has to be given by its own name.
 */
export function mountsOf(
  paths: readonly GivenPath[],
  workspace: string | null,
  taken: readonly SandboxMount[],
): SandboxMount[] {
  const outside = paths.filter(({ path }) => workspace === null || !contains(workspace, path));
  return outside
    .filter(
      one =>
        !outside.some(other => other !== one && contains(other.path, one.path) && (other.writable || !one.writable)),
    )
    .map(({ path, writable }) => {
      const inTheWay = taken.find(
        ({ at, kind }) => at === path || contains(path, at) || (kind !== 'tmpfs' && contains(at, path)),
      );
      const own = inTheWay?.at ?? (isOwnPlace(path) ? path : null);
      if (own !== null)
        throw new SkillboxError('USAGE', `${path} cannot be given to a run: inside, ${own} is the sandbox's own`, {
          hint: 'Copy it to another place first.',
        });
      const within = protectionOf(outside, path);
      const protect = {
        reveal: within.reveal.filter(one => one !== ''),
        unlock: within.unlock.filter(one => one !== ''),
      };
      return { kind: 'bind', source: path, at: path, writable, exec: false, protect };
    });
}
