import { createHash } from 'node:crypto';
import { existsSync, lstatSync, realpathSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { SkillboxError, visibleLine } from '../base/index.ts';
import { projectFolders } from '../catalog/index.ts';
import { type AgentId, agentOf } from './agents.ts';

/** Where skills are installed: into a project, or for the user. All that is written lies below `root`. */
export type Scope = {
  kind: 'project' | 'user';
  root: string;
  /** The one stored copy of each skill lies in it. */
  store: string;
  lockPath: string;
  /** For what is made ready aside, on the same file system. */
  staging: string;
  /** In the user's data directory: what is under way, and how to take it back. */
  notes: string;
};

export const LOCK_FILE = 'skills.lock';

/** `own`: directories in which everything is trusted as the user's. */
export function projectScope(cwd: string, home: string | null, data: string, own: readonly string[] = []): Scope {
  const folders = projectFolders(cwd);
  const root = realpathSync(folders.find(folder => existsSync(join(folder, LOCK_FILE))) ?? folders.at(-1) ?? cwd);
  // Threat: what lies in the user's own directories is trusted, so a project must never be installed into them.
  const trusted = own.filter(path => existsSync(path)).map(path => realpathSync(path));
  const inOwn = trusted.some(path => root === path || isInside(path, root));
  if (inOwn || (home !== null && existsSync(home) && root === realpathSync(home))) {
    throw new SkillboxError(
      'USAGE',
      `${inOwn ? 'a directory of your own skills' : 'your home directory'} is no project`,
      {
        hint: 'Install for yourself with --global, or change into a project.',
      },
    );
  }
  return { kind: 'project', root, lockPath: join(root, LOCK_FILE), ...placesIn(root, data) };
}

export function userScope(home: string, data: string): Scope {
  const root = realpathSync(home);
  return { kind: 'user', root, lockPath: join(root, '.skillbox', LOCK_FILE), ...placesIn(root, data) };
}

function placesIn(root: string, data: string): Pick<Scope, 'store' | 'staging' | 'notes'> {
  const key = createHash('sha256').update(root).digest('hex').slice(0, 32);
  return {
    store: join(root, '.skillbox/skills'),
    staging: join(root, '.skillbox/staging'),
    notes: join(data, 'installs', key),
  };
}

export type SkillPlace = { path: string; agents: AgentId[] };

/** The directories in which the agents look, each once, under their real paths. */
export function agentPlaces(scope: Scope, agents: readonly AgentId[]): SkillPlace[] {
  const places = new Map<string, AgentId[]>();
  for (const id of agents) {
    const path = realPlace(scope, agentOf(id).skills[scope.kind]);
    // Somebody made the agent's directory a link to the store: the skill is there already.
    if (path === scope.store) continue;
    places.set(path, [...(places.get(path) ?? []), id]);
  }
  return [...places].map(([path, ids]) => ({ path, agents: ids }));
}

/**
 * A directory below the root by its real path. Threat: a project whose `.agents` is a link to somewhere else would have us
 * write there.
 */
export function realPlace(scope: Scope, below: string): string {
  let path = scope.root;
  for (const part of below.split('/')) {
    path = join(path, part);
    const stats = lstatSync(path, { throwIfNoEntry: false });
    if (stats?.isSymbolicLink() !== true) continue;
    const real = existsSync(path) ? realpathSync(path) : null;
    if (real === null || !isInside(scope.root, real)) {
      throw new SkillboxError('UNWRITABLE', `${visibleLine(path, 200)} is a link that leads out of ${scope.root}`, {
        hint: 'Nothing was written. Remove the link.',
      });
    }
    path = real;
  }
  return path;
}

/** The store, and what is made ready beside it, are never reached through a link. */
export function checkStore(scope: Scope): void {
  for (const path of [scope.store, scope.staging]) {
    if (realPlace(scope, relative(scope.root, path)) === path) continue;
    throw new SkillboxError('UNWRITABLE', `${path} is reached through a link`, {
      hint: 'Nothing was written. Put a directory in its place.',
    });
  }
}

export function isInside(root: string, path: string): boolean {
  return path.startsWith(root.endsWith(sep) ? root : `${root}${sep}`);
}
