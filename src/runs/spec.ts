import { posix } from 'node:path';
import type { Invocation, Mount } from '../dialects/index.ts';
import type { RunSpec, SandboxMount } from '../sandbox/index.ts';

/** Where the host keeps what an invocation mounts. */
export type Places = {
  /** The snapshot of the skill, and the names at its top. */
  skill: string;
  skillEntries: readonly string[];
  /** null: the call has no workspace, and the run gets an empty private one. */
  workspace: string | null;
  /** Transformed TypeScript by its path in the skill. */
  compiled: ReadonlyMap<string, string>;
  dependencies: string | null;
};

export type Around = Pick<RunSpec, 'limits' | 'network' | 'runtime' | 'tenant' | 'requires'>;

/** The pure step from what a dialect wants to what a sandbox is told. */
export function toRunSpec(invocation: Invocation, places: Places, around: Around): RunSpec {
  const inner = invocation.mounts.map(mount => mount.at);
  const mounts = invocation.mounts.flatMap(mount => toMounts(mount, places, inner));
  const env = { ...invocation.env };
  const python = mounts.find(mount => mount.kind === 'bind' && mount.at.endsWith('/site-packages'));
  if (python !== undefined) env.PYTHONPATH = python.at;
  return { argv: invocation.argv, cwd: invocation.cwd, env, mounts, ...around };
}

function toMounts(mount: Mount, places: Places, all: readonly string[]): SandboxMount[] {
  switch (mount.kind) {
    case 'skill':
      return skillMounts(mount.at, places, all);
    case 'compiled': {
      const source = places.compiled.get(mount.path);
      return source === undefined ? [] : [readOnly(source, mount.at)];
    }
    case 'dependencies':
      return places.dependencies === null ? [] : [readOnly(places.dependencies, mount.at)];
    case 'workspace':
      if (places.workspace === null) return [{ kind: 'out', at: mount.at, directories: [] }];
      return [
        {
          kind: 'bind',
          source: places.workspace,
          at: mount.at,
          writable: mount.writable,
          exec: true,
          protect: { reveal: [], unlock: [] },
        },
      ];
    case 'out':
      return [{ kind: 'out', at: mount.at, directories: ['files'] }];
    case 'text':
    case 'tmpfs':
      return [mount];
  }
}

/**
 * The snapshot as it is, or, where another mount lies inside it, its entries one by one: a mount point cannot be made in a
 * folder that is read-only, and what lies over an entry of the skill hides it.
 */
function skillMounts(at: string, places: Places, all: readonly string[]): SandboxMount[] {
  const covered = new Set(
    all.filter(path => path.startsWith(`${at}/`)).map(path => path.slice(at.length + 1).split('/')[0]),
  );
  if (covered.size === 0) return [readOnly(places.skill, at)];
  return places.skillEntries
    .filter(name => !covered.has(name))
    .map(name => readOnly(posix.join(places.skill, name), posix.join(at, name)));
}

function readOnly(source: string, at: string): SandboxMount {
  return { kind: 'bind', source, at, writable: false, exec: true, protect: null };
}
