import { posix } from 'node:path';
import { SkillboxError } from '../base/index.ts';
import type { Invocation, Mount } from '../dialects/index.ts';
import type { Manager } from '../layers/index.ts';
import { type RunSpec, SANDBOX_BIN, type SandboxMount } from '../sandbox/index.ts';
import { type GivenPath, mountsOf, protectionOf } from './paths.ts';

/** Where the host keeps what an invocation mounts. */
export type Places = {
  /** The snapshot of the skill, and the names at its top. */
  skill: string;
  skillEntries: readonly string[];
  /** null: the call has no workspace, and the run gets an empty private one. */
  workspace: string | null;
  /** What the caller gives beyond it. */
  paths: readonly GivenPath[];
  /** Transformed TypeScript by its path in the skill. */
  compiled: ReadonlyMap<string, string>;
  /** SB-07: the layer of each package manager that the skill needs. */
  dependencies: ReadonlyMap<Manager, string>;
};

export type Around = Pick<RunSpec, 'limits' | 'network' | 'runtime' | 'tenant' | 'requires'>;

/** The pure step from what a dialect wants to what a sandbox is told. */
export function toRunSpec(invocation: Invocation, places: Places, around: Around): RunSpec {
  const others = invocation.mounts.filter(mount => mount.kind !== 'skill');
  // Only what is really mounted hides an entry of the skill: without a layer its own node_modules stay.
  const inner = others.flatMap(mount => toMounts(mount, places, [])).map(mount => mount.at);
  const home = others.find(mount => mount.kind === 'workspace');
  const laid = invocation.mounts.flatMap(mount => toMounts(mount, places, inner));
  const mounts = [...laid, ...mountsOf(places.paths, home === undefined ? null : places.workspace, laid)];
  const env = { ...invocation.env };
  // GB-11: without a repository a tool works in its home directory, which is this private one.
  if (invocation.result === 'envelope' && places.workspace === null && home !== undefined) env.HOME = home.at;
  const python = others.find(
    mount => mount.kind === 'dependencies' && places.dependencies.has('pip') && mount.manager === 'pip',
  );
  if (python !== undefined) env.PYTHONPATH = python.at;
  // SK-10: `seksh` is found wherever nothing else has that name.
  if (env.PATH !== undefined) env.PATH = `${env.PATH}:${SANDBOX_BIN}`;
  return { argv: invocation.argv, cwd: invocation.cwd, env, mounts, ...around };
}

/** SK-10: it is the sandbox's own, and looked for neither on the host nor in an image. */
export function withOwnPrograms([program = '', ...rest]: readonly string[]): string[] {
  return [program === 'seksh' ? posix.join(SANDBOX_BIN, program) : program, ...rest];
}

function toMounts(mount: Mount, places: Places, all: readonly string[]): SandboxMount[] {
  switch (mount.kind) {
    case 'skill':
      return skillMounts(mount.at, places, all);
    case 'compiled': {
      const source = places.compiled.get(mount.path);
      return source === undefined ? [] : [readOnly(source, mount.at)];
    }
    case 'dependencies': {
      const source = places.dependencies.get(mount.manager);
      return source === undefined ? [] : [readOnly(source, mount.at)];
    }
    case 'workspace':
      if (places.workspace === null) return [{ kind: 'out', at: mount.at, directories: [] }];
      return [
        {
          kind: 'bind',
          source: places.workspace,
          at: mount.at,
          writable: mount.writable,
          exec: true,
          protect: protectionOf(places.paths, places.workspace),
        },
      ];
    case 'out':
      return [{ kind: 'out', at: mount.at, directories: ['files'] }];
    case 'text':
    case 'tmpfs':
      return [mount];
  }
}

/** For an ordinary user bubblewrap's time grows with the square of the mounts: 128 take some 0.1 s, 1,500 more than 20 s. */
const MAX_ENTRIES = 128;

/**
 * The snapshot as it is, or, where another mount lies inside it, its entries one by one: a mount point cannot be made in a
 * folder that is read-only, and what lies over an entry of the skill hides it.
 */
function skillMounts(at: string, places: Places, all: readonly string[]): SandboxMount[] {
  const covered = new Set(
    all.filter(path => path.startsWith(`${at}/`)).map(path => path.slice(at.length + 1).split('/')[0]),
  );
  if (covered.size === 0) return [readOnly(places.skill, at)];
  if (places.skillEntries.length > MAX_ENTRIES) {
    throw new SkillboxError(
      'INVALID_SKILL',
      `the skill has ${places.skillEntries.length} files and folders beside SKILL.md; at most ${MAX_ENTRIES} can be laid out`,
      { hint: 'Put them into folders, such as references/.' },
    );
  }
  return places.skillEntries
    .filter(name => !covered.has(name))
    .map(name => readOnly(posix.join(places.skill, name), posix.join(at, name)));
}

function readOnly(source: string, at: string): SandboxMount {
  return { kind: 'bind', source, at, writable: false, exec: true, protect: null };
}
