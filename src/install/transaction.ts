import { randomUUID } from 'node:crypto';
import {
  closeSync,
  copyFileSync,
  existsSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { errnoOf, makePrivate, SkillboxError } from '../base/index.ts';
import { holdName } from './alone.ts';
import type { Scope } from './scope.ts';

/** What is at `path` gives way to `staged`, a file or folder in the staging directory; null only takes it away. */
export type Change = { path: string; staged: string | null };

type Step = Change & { had: boolean };
type Journal = { steps: Step[]; made: string[] };

const IGNORED = 'staging/\n';
const NOTHING: Journal = { steps: [], made: [] };
const NOTE = '.json';
const LEFT = 'left-';

/**
 * All changes or none. Everything is made ready aside and the list of steps is on disk before the first of them, so that
 * whoever comes after a killed process can take the steps back. `before` is the last moment to refuse.
 *
 * Threat: a project comes from others. Steps that lay in it could name any path of this machine, so they are noted with the user.
 */
export async function change(
  scope: Scope,
  prepare: (staging: string) => Promise<Change[]>,
  before: () => Promise<void>,
): Promise<void> {
  await alone(scope, async () => {
    const id = randomUUID();
    const staging = join(scope.staging, id);
    try {
      note(scope, id, NOTHING);
      mkdirSync(join(staging, 'old'), { recursive: true });
      setAside(scope);
      ignoreStaging(scope);
      const changes = await prepare(staging);
      await before();
      commit(scope, id, changes);
    } catch (cause) {
      takeBack(scope, id);
      throw translate(cause, scope);
    }
    clear(scope, id);
  });
}

/** One at a time: the lock goes with the process that holds it, however that ends. What it left half done is taken back. */
async function alone(scope: Scope, body: () => Promise<void>): Promise<void> {
  let database: InstanceType<typeof import('node:sqlite')['DatabaseSync']>;
  try {
    makePrivate(scope.notes);
    const { DatabaseSync } = await import('node:sqlite');
    database = new DatabaseSync(join(scope.notes, 'lock'));
  } catch (cause) {
    throw translate(cause, scope);
  }
  try {
    try {
      database.exec('BEGIN EXCLUSIVE');
    } catch (cause) {
      throw busy(scope, cause);
    }
    const letGo = await holdName(scope.root);
    if (letGo === null) throw busy(scope, undefined);
    try {
      recover(scope);
      await body();
    } finally {
      await letGo();
    }
  } finally {
    database.close();
  }
}

function busy({ root }: Scope, cause: unknown): SkillboxError {
  return new SkillboxError('INSTALL_BUSY', `another command is changing the skills in ${root}`, { cause });
}

/**
 * What somebody with another data directory was killed at: only they know how to take it back, and once we have changed something they
 * must not. So it is kept, under a name where they do not find it.
 */
function setAside(scope: Scope): void {
  const own = new Set(begun(scope));
  for (const name of existsSync(scope.staging) ? readdirSync(scope.staging) : []) {
    if (!own.has(name) && !name.startsWith(LEFT))
      renameSync(join(scope.staging, name), join(scope.staging, LEFT + name));
  }
}

/** Whether somebody was interrupted; the next change repairs it. */
export function wasInterrupted(scope: Scope): boolean {
  return begun(scope).length > 0;
}

/** Takes back what a killed process left half done, if there is such a thing. */
export async function repair(scope: Scope): Promise<void> {
  if (wasInterrupted(scope)) await alone(scope, async () => undefined);
}

function recover(scope: Scope): void {
  for (const id of begun(scope)) takeBack(scope, id);
}

/** What cannot be taken back stays aside, for the next one to try. */
function takeBack(scope: Scope, id: string): void {
  try {
    undo(scope, id);
  } catch (cause) {
    throw translate(cause, scope);
  }
  clear(scope, id);
}

function begun({ notes }: Scope): string[] {
  if (!existsSync(notes)) return [];
  return readdirSync(notes).flatMap(name => (name.endsWith(NOTE) ? [basename(name, NOTE)] : []));
}

function note(scope: Scope, id: string, journal: Journal): void {
  writeDurably(join(scope.notes, `${id}${NOTE}`), JSON.stringify(journal));
}

function ignoreStaging(scope: Scope): void {
  if (scope.kind !== 'project') return;
  try {
    // Not through a link, wherever that leads.
    writeFileSync(join(dirname(scope.staging), '.gitignore'), IGNORED, { flag: 'wx' });
  } catch (cause) {
    if (errnoOf(cause) !== 'EEXIST') throw cause;
  }
}

function commit(scope: Scope, id: string, changes: readonly Change[]): void {
  const staging = join(scope.staging, id);
  const wanted = changes.flatMap(({ path, staged }) => (staged === null ? [] : [dirname(path)]));
  const made = [...new Set(wanted.flatMap(missingFolders))];
  const steps = changes.map(step => ({ ...step, had: kindOf(step.path) !== null }));
  note(scope, id, { steps, made });
  for (const folder of wanted) mkdirSync(folder, { recursive: true });
  for (const [index, { path, staged, had }] of steps.entries()) {
    const old = join(staging, 'old', String(index));
    // A file is replaced in one step, so that there is a lock at every moment.
    if (had && staged !== null && kindOf(path) === 'file' && kindOf(join(staging, staged)) === 'file')
      copyFileSync(path, old);
    else if (had) renameSync(path, old);
    if (staged !== null) renameSync(join(staging, staged), path);
  }
  note(scope, id, NOTHING);
}

/** Those that must be made for a folder to be there, the outermost first. */
function missingFolders(folder: string): string[] {
  const missing: string[] = [];
  for (let at = folder; !existsSync(at) && dirname(at) !== at; at = dirname(at)) missing.unshift(at);
  return missing;
}

function undo(scope: Scope, id: string): void {
  const staging = join(scope.staging, id);
  const path = join(scope.notes, `${id}${NOTE}`);
  // Somebody else has changed something since: what stands in the places now may be theirs.
  if (!existsSync(path) || !existsSync(staging)) return;
  const { steps, made } = JSON.parse(readFileSync(path, 'utf8')) as Journal;
  for (const [index, { path: target, staged, had }] of [...steps.entries()].reverse()) {
    const old = join(staging, 'old', String(index));
    const moved = staged !== null && kindOf(join(staging, staged)) === null;
    if (had && kindOf(old) !== null) {
      if (kindOf(old) !== 'file' || kindOf(target) !== 'file') rmSync(target, { recursive: true, force: true });
      renameSync(old, target);
    } else if (!had && moved) rmSync(target, { recursive: true, force: true });
  }
  for (const folder of [...made].reverse()) {
    try {
      rmdirSync(folder);
    } catch {
      // not empty: somebody else has put something there
    }
  }
}

function kindOf(path: string): 'file' | 'other' | null {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  return stats === undefined ? null : stats.isFile() ? 'file' : 'other';
}

function writeDurably(path: string, text: string): void {
  const fd = openSync(`${path}.part`, 'w', 0o600);
  try {
    writeSync(fd, text);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
  renameSync(`${path}.part`, path);
}

function clear(scope: Scope, id: string): void {
  rmSync(join(scope.staging, id), { recursive: true, force: true });
  rmSync(join(scope.notes, `${id}${NOTE}`), { force: true });
  try {
    rmdirSync(scope.staging);
  } catch {
    // another one's is still in it, or it is gone
  }
}

function translate(cause: unknown, scope: Scope): unknown {
  const code = errnoOf(cause);
  if (cause instanceof SkillboxError || code === null) return cause;
  const message = `cannot write below ${scope.root} (${code}${cause instanceof Error && 'path' in cause ? `: ${String(cause.path)}` : ''})`;
  return new SkillboxError('UNWRITABLE', message, { cause });
}
