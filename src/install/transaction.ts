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
import { dirname, join } from 'node:path';
import { errnoOf, SkillboxError } from '../base/index.ts';
import type { Scope } from './scope.ts';

/** What is at `path` gives way to `staged`, a file or folder in the staging directory; null only takes it away. */
export type Change = { path: string; staged: string | null };

type Step = Change & { had: boolean };
type Journal = { steps: Step[]; made: string[] };

const IGNORED = 'staging/\ninstall.lock\n';

/**
 * All changes or none. Everything is made ready aside and the list of steps is on disk before the first of them, so that
 * whoever comes after a killed process can take the steps back. `before` is the last moment to refuse.
 */
export async function change(
  scope: Scope,
  prepare: (staging: string) => Promise<Change[]>,
  before: () => Promise<void>,
): Promise<void> {
  await alone(scope, async () => {
    const staging = join(scope.staging, randomUUID());
    try {
      mkdirSync(join(staging, 'old'), { recursive: true });
      const changes = await prepare(staging);
      await before();
      commit(staging, changes);
    } catch (cause) {
      undo(staging);
      throw translate(cause, scope);
    } finally {
      clear(scope, staging);
    }
  });
}

/** One at a time: the lock goes with the process that holds it, however that ends. What it left half done is taken back. */
async function alone(scope: Scope, body: () => Promise<void>): Promise<void> {
  const own = dirname(scope.staging);
  let database: InstanceType<typeof import('node:sqlite')['DatabaseSync']>;
  try {
    mkdirSync(own, { recursive: true });
    if (scope.kind === 'project' && !existsSync(join(own, '.gitignore')))
      writeFileSync(join(own, '.gitignore'), IGNORED);
    const { DatabaseSync } = await import('node:sqlite');
    database = new DatabaseSync(join(own, 'install.lock'));
  } catch (cause) {
    throw translate(cause, scope);
  }
  try {
    try {
      database.exec('BEGIN EXCLUSIVE');
    } catch (cause) {
      throw new SkillboxError('INSTALL_BUSY', `another command is changing the skills in ${scope.root}`, { cause });
    }
    recover(scope);
    await body();
  } finally {
    database.close();
  }
}

/** Whether somebody was interrupted; the next change repairs it. */
export function wasInterrupted(scope: Scope): boolean {
  return existsSync(scope.staging) && readdirSync(scope.staging).length > 0;
}

/** Takes back what a killed process left half done, if there is such a thing. */
export async function repair(scope: Scope): Promise<void> {
  if (wasInterrupted(scope)) await alone(scope, async () => undefined);
}

function recover(scope: Scope): void {
  if (!existsSync(scope.staging)) return;
  for (const name of readdirSync(scope.staging)) {
    const staging = join(scope.staging, name);
    if (!existsSync(join(staging, 'done'))) undo(staging);
    clear(scope, staging);
  }
}

function commit(staging: string, changes: readonly Change[]): void {
  const made = changes.flatMap(({ path, staged }) => {
    const first = staged === null ? undefined : mkdirSync(dirname(path), { recursive: true });
    return first === undefined ? [] : foldersFrom(first, dirname(path));
  });
  const steps = changes.map(step => ({ ...step, had: kindOf(step.path) !== null }));
  writeDurably(join(staging, 'journal.json'), JSON.stringify({ steps, made } satisfies Journal));
  for (const [index, { path, staged, had }] of steps.entries()) {
    const old = join(staging, 'old', String(index));
    // A file is replaced in one step, so that there is a lock at every moment.
    if (had && staged !== null && kindOf(path) === 'file' && kindOf(join(staging, staged)) === 'file')
      copyFileSync(path, old);
    else if (had) renameSync(path, old);
    if (staged !== null) renameSync(join(staging, staged), path);
  }
  writeDurably(join(staging, 'done'), '');
}

function foldersFrom(first: string, last: string): string[] {
  const folders: string[] = [];
  for (let folder = last; folder.length >= first.length; folder = dirname(folder)) folders.unshift(folder);
  return folders;
}

function undo(staging: string): void {
  const path = join(staging, 'journal.json');
  if (!existsSync(path)) return;
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

function clear(scope: Scope, staging: string): void {
  rmSync(staging, { recursive: true, force: true });
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
