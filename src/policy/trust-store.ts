import { chmodSync, closeSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { isAbsolute, join } from 'node:path';
import { errnoOf, isObject, type JsonValue, makePrivate, readGuarded, SkillboxError } from '../base/index.ts';

/** What the user trusts: real paths and publishers, each with the time since when. */
export type TrustEntry = { kind: 'path' | 'publisher'; value: string; addedAt: number };
/** `fault`: the file cannot be relied on, so nothing is trusted. */
export type TrustList = { entries: readonly TrustEntry[]; fault: string | null };

export type TrustStore = {
  read(): TrustList;
  /** False when it was there already. */
  add(kind: TrustEntry['kind'], value: string): boolean;
  /** False when it was not there. */
  remove(kind: TrustEntry['kind'], value: string): boolean;
};

const MAX_BYTES = 4 * 1024 ** 2;
const WAIT_MS = 10_000;

/** One file, replaced at once and by one process at a time. */
export function openTrustStore(dataDirectory: string): TrustStore {
  const path = join(dataDirectory, 'trust.json');
  const change = (edit: (entries: readonly TrustEntry[]) => TrustEntry[] | null): boolean => {
    makePrivate(dataDirectory);
    return locked(`${path}.lock`, () => {
      const { entries, fault } = readList(path);
      // Not written over: what stands in it is for its owner to judge.
      if (fault !== null) throw refuse(path, fault);
      const changed = edit(entries);
      if (changed !== null) replace(path, changed);
      return changed !== null;
    });
  };
  const isSame = (kind: TrustEntry['kind'], value: string) => (entry: TrustEntry) =>
    entry.kind === kind && entry.value === value;
  return {
    read: () => readList(path),
    add: (kind, value) =>
      change(entries => {
        return entries.some(isSame(kind, value)) ? null : [...entries, { kind, value, addedAt: Date.now() }];
      }),
    remove: (kind, value) =>
      change(entries => {
        const kept = entries.filter(entry => !isSame(kind, value)(entry));
        return kept.length === entries.length ? null : kept;
      }),
  };
}

function refuse(path: string, fault: string): SkillboxError {
  return new SkillboxError('UNREADABLE', `${path} cannot be used: ${fault}`, {
    hint: 'Nothing is trusted meanwhile. Mend the file, or remove it and trust anew what you trust.',
  });
}

function readList(path: string): TrustList {
  const found = readGuarded(path, { maxBytes: MAX_BYTES, mine: true, links: false });
  if (found === null) return { entries: [], fault: null };
  if ('fault' in found) return { entries: [], fault: found.fault };
  try {
    const value = JSON.parse(found.text) as JsonValue;
    if (!isObject(value) || value.version !== 1 || !Array.isArray(value.entries)) throw new TypeError('no entries');
    return { entries: value.entries.map(toEntry), fault: null };
  } catch {
    return { entries: [], fault: 'it is not what Skillbox writes' };
  }
}

function toEntry(value: JsonValue): TrustEntry {
  if (!isObject(value)) throw new TypeError('no entry');
  const { kind, value: what, addedAt } = value;
  if ((kind !== 'path' && kind !== 'publisher') || typeof what !== 'string' || typeof addedAt !== 'number') {
    throw new TypeError('no entry');
  }
  if (what === '' || (kind === 'path' && !isAbsolute(what))) throw new TypeError('no entry');
  return { kind, value: what, addedAt };
}

/** Written aside, made durable, renamed: whoever reads finds the old list or the new one. */
function replace(path: string, entries: readonly TrustEntry[]): void {
  const aside = `${path}.${process.getBuiltinModule('node:crypto').randomBytes(6).toString('hex')}`;
  try {
    const fd = openSync(aside, 'wx', 0o600);
    try {
      writeFileSync(fd, `${JSON.stringify({ version: 1, entries }, null, 2)}\n`);
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
    renameSync(aside, path);
  } catch (cause) {
    rmSync(aside, { force: true });
    throw new SkillboxError('UNWRITABLE', `cannot write ${path} (${errnoOf(cause) ?? String(cause)})`, { cause });
  }
}

/** SQLite holds the lock: the kernel gives it back when the process dies, which a file of our own could not. */
function locked<T>(path: string, body: () => T): T {
  const { DatabaseSync } = createRequire(import.meta.url)('node:sqlite') as typeof import('node:sqlite');
  const database = new DatabaseSync(path);
  try {
    chmodSync(path, 0o600);
    database.exec(`PRAGMA busy_timeout = ${WAIT_MS}; BEGIN EXCLUSIVE`);
  } catch (cause) {
    database.close();
    throw new SkillboxError('UNWRITABLE', `cannot lock ${path}: ${String(cause)}`, { cause });
  }
  try {
    return body();
  } finally {
    database.close();
  }
}
