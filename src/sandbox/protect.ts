import { lstat, readdir, readlink, realpath } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { enclosingGits, GIT_GUARDED, GUARDED, obeyedElsewhere, SkillboxError } from '../base/index.ts';
import { type Looked, lookThrough, MAX_DEPTH, MAX_ENTRIES, ROOT } from './look-through.ts';
import { REBASE } from './new-repository.ts';
import { atLeast, type Guarantee, type Level, type Protection, type Requires } from './sandbox.ts';
import { isShut, readerOf } from './shut.ts';
import { type Kind, kindOf, parents } from './tree-paths.ts';

/** Paths are relative to the mount. */
export type ProtectionPlan = {
  /** Directories that must not be renamed, because guarded things lie in them. */
  hold: string[];
  readOnly: string[];
  hidden: string[];
  /** Guarded, but not there (or a link, which no mount can hold): looked at during and after the run. */
  absent: string[];
  /** Guarded names and git directories below the root, as they were: what is there besides after the run is new. */
  known: string[];
  /** Folders that the run may not list: they are hidden, so that it cannot open them either. */
  shut: string[];
  /** Where a rebase under way would be in a git directory, and was not. */
  rebases: string[];
  /** False when the tree was too large to look for secrets everywhere. */
  complete: boolean;
};

/** Threat: in a tree too large to look through there may be a secret that is not hidden. Whoever does not ask for that is told by the level. */
export function admitUnsearched(
  protections: ReadonlyMap<string, ProtectionPlan>,
  held: Map<Guarantee, Level>,
  requires: Requires,
): void {
  if ([...protections.values()].every(plan => plan.complete)) return;
  held.set('workspace', 'none');
  if (atLeast('none', requires.get('workspace') ?? 'none')) return;
  throw new SkillboxError(
    'SANDBOX_CANNOT_ENFORCE',
    `The workspace cannot be guarded: it has more than ${MAX_ENTRIES} entries, is nested deeper than ${MAX_DEPTH}, or may not be listed; or git obeys more of it than can be looked for.`,
    {
      hint: 'Name a smaller folder with --workspace (or --path). To go on with secrets in it unhidden, say `lower: {workspace: none}` in your own policy.',
    },
  );
}

/** What to do for one workspace as it stands now. Links are never followed out of it. */
export async function planProtection(root: string, protection: Protection): Promise<ProtectionPlan> {
  return new Planner(root, protection, await lookThrough(root, null)).make();
}

class Planner {
  readonly #root: string;
  readonly #protection: Protection;
  readonly #looked: Looked;
  readonly #reader: ReturnType<typeof readerOf>;
  readonly #plan: ProtectionPlan;
  /** What lies in one of these is meant with it. */
  readonly #whole: ReadonlySet<string>;

  constructor(root: string, protection: Protection, looked: Looked) {
    const { secrets, git, guarded, shut, complete } = looked;
    this.#root = root;
    this.#protection = protection;
    this.#looked = looked;
    this.#reader = readerOf(root);
    this.#whole = new Set([...GUARDED, '.git', ...secrets, ...git, ...guarded]);
    this.#plan = {
      hold: [],
      readOnly: [],
      hidden: [...shut],
      absent: [],
      known: [...git, ...guarded],
      shut,
      rebases: [],
      complete,
    };
  }

  async make(): Promise<ProtectionPlan> {
    const { secrets, git: gits, guarded, sockets } = this.#looked;
    for (const name of GUARDED) await this.#guard(name);
    for (const path of guarded) {
      if (secrets.includes(path)) continue; // hidden, or shown below, and so not to be written either
      this.#hold(parents(path));
      await this.#guard(path);
    }
    for (const git of ['.git', ...gits]) if (!this.#isUnlocked(git)) await this.#guardGit(git);
    for (const above of enclosingGits(this.#root)) await this.#guardElsewhere(relative(this.#root, above));
    this.#plan.hidden.push(...sockets);
    for (const path of secrets) await this.#guardSecret(path);
    this.#settle();
    return this.#plan;
  }

  #kindOf(path: string): Promise<Kind> {
    return kindOf(join(this.#root, path));
  }

  #hold(paths: readonly string[]): void {
    const { hold } = this.#plan;
    for (const path of paths) if (!hold.includes(path)) hold.push(path);
  }

  /**
   * Threat: who gives a plain folder may not know what lies in it. What is secret or obeyed there has to be named itself, or by
   * what is as a whole.
   */
  #covers(names: readonly string[], path: string): boolean {
    const isWhole = (name: string) => [...parents(name), name].some(above => this.#whole.has(above));
    return names.some(name => path === name || (isWhole(name) && path.startsWith(`${name}/`)));
  }

  #isUnlocked(path: string): boolean {
    return this.#covers(this.#protection.unlock, path);
  }

  async #guard(path: string): Promise<void> {
    const plan = this.#plan;
    if (this.#isUnlocked(path)) return;
    const kind = await this.#kindOf(path);
    if (kind === 'plain') plan.readOnly.push(path);
    else plan.absent.push(path);
    if (kind !== 'link') return;
    // No mount can stand on a link, but on what it names: that is what would be obeyed, now or once it is there.
    const target = await targetOf(this.#root, path);
    if (target === null || plan.absent.includes(target) || plan.readOnly.includes(target)) return;
    for (const above of parents(target)) if ((await this.#kindOf(above)) === 'plain') this.#hold([above]);
    await this.#guard(target);
  }

  async #guardGit(git: string): Promise<void> {
    const plan = this.#plan;
    const at = join(this.#root, git);
    if ((await kindOf(at)) !== 'plain') plan.absent.push(git);
    else if (isShut(at, this.#reader)) plan.hidden.push(git);
    else if ((await lstat(at)).isDirectory()) {
      // Whoever can rename a parent can put another one in its place.
      if (git !== ROOT) this.#hold([...parents(git), git]);
      for (const name of GIT_GUARDED) await this.#guard(join(git, name));
      // One that comes to be is looked into after the run: to rebase is ordinary work.
      const rebase = join(git, REBASE);
      if ((await this.#kindOf(rebase)) === 'absent') plan.rebases.push(rebase);
      else await this.#guard(rebase);
    } else plan.readOnly.push(git); // a worktree's or submodule's pointer file
    await this.#guardElsewhere(git);
  }

  async #guardElsewhere(git: string): Promise<void> {
    const { readOnly } = this.#plan;
    const { secrets } = this.#looked;
    const elsewhere = obeyedElsewhere(this.#root, git);
    this.#plan.complete &&= elsewhere !== null;
    for (const path of elsewhere ?? []) {
      if ([...parents(path), path].some(above => readOnly.includes(above) || secrets.includes(above))) continue;
      this.#hold(parents(path));
      await this.#guard(path);
    }
  }

  async #guardSecret(path: string): Promise<void> {
    if (!this.#covers(this.#protection.reveal, path)) return this.#hide(path);
    await this.#shutSockets(path);
    if (this.#isUnlocked(path)) return;
    // Given to be read.
    this.#hold(parents(path));
    await this.#guard(path);
  }

  async #hide(path: string): Promise<void> {
    const { reveal } = this.#protection;
    if (!reveal.some(given => given.startsWith(`${path}/`))) {
      this.#plan.hidden.push(path);
      return;
    }
    // A folder of secrets of which one was given: the others stay hidden.
    this.#plan.readOnly.push(path);
    for (const name of await readdir(join(this.#root, path))) {
      const inner = join(path, name);
      await (this.#covers(reveal, inner) ? this.#shutSockets(inner) : this.#hide(inner));
    }
  }

  /** Behind a socket is a process of the host: no path that is given opens a way out. */
  async #shutSockets(path: string): Promise<void> {
    const at = join(this.#root, path);
    if (!(await lstat(at)).isDirectory()) return;
    const { complete, sockets, shut } = await lookThrough(at, null);
    this.#plan.complete &&= complete;
    this.#plan.hidden.push(...[...sockets, ...shut].map(name => join(path, name)));
  }

  /** Threat: a mount of its own inside of what is read-only would be open to be written; what is unlocked there is to be that. */
  #settle(): void {
    const plan = this.#plan;
    const whole = new Set(plan.readOnly);
    const opened = new Set<string>();
    const isBeneath = (path: string) => {
      const nearest = parents(path).findLast(above => whole.has(above) || opened.has(above));
      return nearest !== undefined && !opened.has(nearest);
    };
    for (const path of this.#protection.unlock) if (isBeneath(path)) opened.add(path);
    // An engine mounts nothing twice.
    const held = plan.hold.filter(path => !whole.has(path) && !isBeneath(path));
    plan.hold = [...new Set([...held, ...opened])];
    plan.readOnly = [...whole].filter(path => !isBeneath(path));
  }
}

/** Where a link leads, or would once that is made; null: out of the workspace. */
async function targetOf(root: string, path: string): Promise<string | null> {
  const link = join(root, path);
  const target = await realpath(link).catch(async () => resolve(dirname(link), await readlink(link)));
  const inside = relative(root, target);
  return inside === '' || inside === '..' || inside.startsWith('../') ? null : inside;
}
