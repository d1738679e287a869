import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readFileSync,
  rmdirSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { errnoOf } from '../base/index.ts';

export type Controller = 'memory' | 'pids' | 'cpu';
const CONTROLLERS: readonly Controller[] = ['memory', 'pids', 'cpu'];

/** Where this process may make cgroups: for each controller a directory, on v2 the same one. */
export type CgroupHost = { version: 1 | 2; parents: ReadonlyMap<Controller, string> };

const PARENT = 'skillbox';
/** A file of each controller that is there on v2 when it was handed down. */
const LIMIT_FILES: Record<Controller, string> = { memory: 'memory.max', pids: 'pids.max', cpu: 'cpu.max' };

/** What is asked of the cgroup file system; the tests have a kernel of their own. */
export type Tree = {
  read(path: string): string;
  write(path: string, text: string): void;
  exists(path: string): boolean;
  /** Ours, and its `cgroup.procs` may be written: then our processes may be moved below it. */
  mayMove(directory: string): boolean;
  /** No fault when it is there. */
  make(directory: string): void;
  remove(directory: string): void;
};

const KERNEL: Tree = {
  read: path => readFileSync(path, 'utf8'),
  write: (path, text) => writeFileSync(path, text),
  exists: existsSync,
  mayMove(directory) {
    accessSync(join(directory, 'cgroup.procs'), constants.W_OK);
    return statSync(directory).uid === process.getuid?.();
  },
  make: directory => void mkdirSync(directory, { recursive: true }),
  remove: directory => rmdirSync(directory),
};

/** Pure: the mount points and our own place in them, from /proc/self/mountinfo and /proc/self/cgroup. */
export function parseCgroups(
  mountinfo: string,
  own: string,
): { v1: Map<Controller, string>; v2: string | null; v2Root: string | null } {
  const paths = new Map<string, string>();
  let unified = '/';
  for (const line of own.split('\n')) {
    const [number, controllers = '', ...rest] = line.split(':');
    if (number === '0') unified = rest.join(':');
    else for (const controller of controllers.split(',')) paths.set(controller, rest.join(':'));
  }
  const v1 = new Map<Controller, string>();
  let v2: string | null = null;
  let v2Root: string | null = null;
  for (const line of mountinfo.split('\n')) {
    const [left = '', right = ''] = line.split(' - ');
    const [, , , root = '/', at = ''] = left.split(' ');
    const [type, , options = ''] = right.split(' ');
    const below = (path: string) => join(at, path.startsWith(root) ? path.slice(root.length) : '');
    if (type === 'cgroup2' && v2 === null) {
      v2 = below(unified);
      v2Root = at;
    }
    if (type !== 'cgroup') continue;
    for (const controller of CONTROLLERS)
      if (options.split(',').includes(controller)) v1.set(controller, below(paths.get(controller) ?? '/'));
  }
  return { v1, v2, v2Root };
}

/** Finds, by making and removing one, where cgroups can be made. Null when nowhere. */
export function findCgroups(): CgroupHost | null {
  let found: ReturnType<typeof parseCgroups>;
  try {
    found = parseCgroups(readFileSync('/proc/self/mountinfo', 'utf8'), readFileSync('/proc/self/cgroup', 'utf8'));
  } catch {
    return null; // no /proc or no cgroups: the driver then says which guarantees are weaker
  }
  if (found.v2 !== null && found.v2Root !== null) {
    const parent = unifiedParent(found.v2, found.v2Root);
    if (parent !== null) return parent;
  }
  const parents = new Map<Controller, string>();
  for (const [controller, at] of found.v1) {
    const parent = join(at, PARENT);
    if (canMake(parent, ['cgroup.procs'], KERNEL)) parents.set(controller, parent);
  }
  return parents.size === 0 ? null : { version: 1, parents };
}

/**
 * v2 gives controllers only to the children of a cgroup without processes, and ours has the shell that started us, which
 * is not ours to move. So the ancestors are tried: `app.slice` of a user's session, a delegated unit, or the root. The
 * nearest is best, as it stays within what the user was given; but a slice of systemd has only the controllers that some
 * unit in it asked for, so one further up that has more is taken instead.
 */
export function unifiedParent(own: string, root: string, tree: Tree = KERNEL): CgroupHost | null {
  let best: CgroupHost | null = null;
  const made: string[] = [];
  for (const at of upwards(own, root)) {
    const parent = join(at, PARENT);
    if (!tree.exists(parent)) made.push(parent);
    const held = heldBelow(at, parent, tree);
    if (held.length > (best?.parents.size ?? 0))
      best = { version: 2, parents: new Map(held.map(name => [name, parent])) };
    if (held.length === CONTROLLERS.length) break;
  }
  const chosen = best === null ? [] : [...best.parents.values()];
  for (const parent of made) if (!chosen.includes(parent)) discard(parent, tree);
  return best;
}

function upwards(own: string, root: string): string[] {
  const found: string[] = [];
  for (let at = own; at === root || at.startsWith(`${root}/`); at = join(at, '..')) found.push(at);
  return found;
}

/** The controllers that cgroups in `parent` would have; none where they cannot be made. */
function heldBelow(at: string, parent: string, tree: Tree): Controller[] {
  try {
    if (!tree.mayMove(at) || hasProcesses(at, tree)) return [];
    const wanted = handDown(at, CONTROLLERS, tree);
    if (wanted.length === 0) return [];
    tree.make(parent);
    const held = handDown(parent, wanted, tree);
    const files = ['cgroup.procs', ...held.map(name => LIMIT_FILES[name])];
    return held.length > 0 && canMake(parent, files, tree) ? held : [];
  } catch (error) {
    return passOver(error, []); // not ours to write: try further up
  }
}

/**
 * The root of all cgroups may have processes beside controllers. Another that has any is left alone: the kernel would
 * refuse to hand memory down, but not processors, after which no cgroup below it could take a process.
 */
function hasProcesses(at: string, tree: Tree): boolean {
  return tree.exists(join(at, 'cgroup.type')) && tree.read(join(at, 'cgroup.procs')).trim() !== '';
}

/** Which of them its children have afterwards. One that is refused takes no other with it. */
function handDown(at: string, wanted: readonly Controller[], tree: Tree): Controller[] {
  const file = join(at, 'cgroup.subtree_control');
  const words = (path: string) => tree.read(path).trim().split(/\s+/);
  const available = words(join(at, 'cgroup.controllers'));
  for (const name of wanted) {
    if (!available.includes(name) || words(file).includes(name)) continue;
    try {
      tree.write(file, `+${name}`);
    } catch (error) {
      passOver(error, null); // somebody else's real-time processes keep `cpu` from it, for one
    }
  }
  return wanted.filter(name => words(file).includes(name));
}

function canMake(parent: string, files: readonly string[], tree: Tree): boolean {
  const probe = join(parent, `probe-${process.pid}-${Math.random().toString(36).slice(2)}`);
  try {
    tree.make(probe);
    const complete = files.every(file => tree.exists(join(probe, file)));
    tree.remove(probe);
    return complete;
  } catch {
    return false; // the answer is the whole point; doctor shows it
  }
}

/** A directory that turned out to be of no use; another process may have found one for it. */
function discard(parent: string, tree: Tree): void {
  try {
    if (tree.exists(parent)) tree.remove(parent);
  } catch (error) {
    passOver(error, null);
  }
}

/** ENOTSUP is what Node calls EOPNOTSUPP. */
const REFUSALS = ['EACCES', 'EPERM', 'EBUSY', 'ENOENT', 'EROFS', 'ENOTSUP', 'EINVAL', 'ENOTEMPTY', 'ENODEV'];

/** What the kernel says to somebody who may not, or not there; anything else is a fault. */
function passOver<T>(error: unknown, instead: T): T {
  if (!REFUSALS.includes(errnoOf(error) ?? '')) throw error;
  return instead;
}
