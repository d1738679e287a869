import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { renderSize, SkillboxError } from '../base/index.ts';
import { DEFAULT_LIMITS, showPath } from '../skill/index.ts';
import { type FetchLimits, runGit } from './git.ts';

type TreeEntry = { mode: string; type: string; id: string; size: number; path: string };

const COMMIT = /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/;
const LINK = '120000';
/** More than any collection of skills that is known, and few enough to be listed. */
const MAX_ENTRIES = 50_000;
const MAX_BYTES = 2 * DEFAULT_LIMITS.maxBytes;
const BATCH_BYTES = 32 * 1024 ** 2;

export type Wanted = { url: string; ref: string | null; folder: string | null; commit: string | null };

/**
 * Fetches one commit and writes its files; the answer is the commit. There is no checkout: no hook, filter or attribute of
 * the repository is ever followed, a submodule is a name and nothing more, and each path is looked at before it is written.
 */
export async function fetchTree(
  wanted: Wanted,
  work: { repository: string; tree: string },
  limits: FetchLimits,
): Promise<string> {
  const { repository, tree } = work;
  mkdirSync(repository, { recursive: true });
  await runGit(repository, ['init', '--quiet', '--bare', '--template='], limits);
  const fetch = ['fetch', '--quiet', '--depth=1', '--no-tags', '--no-recurse-submodules', '--no-auto-maintenance'];
  await runGit(repository, [...fetch, '--', wanted.url, wanted.commit ?? wanted.ref ?? 'HEAD'], limits).catch(
    (cause: unknown) => {
      throw asShortened(cause, wanted.ref);
    },
  );
  const words = ['rev-parse', '--verify', '--end-of-options', 'FETCH_HEAD^{commit}'];
  const commit = (await runGit(repository, words, limits)).toString().trim();
  if (!COMMIT.test(commit) || (wanted.commit !== null && commit !== wanted.commit)) {
    throw new SkillboxError('SOURCE_FAILED', `git answered with another commit than ${wanted.commit ?? 'one'}`);
  }
  await writeTree(repository, await listTree(repository, commit, wanted.folder, limits), tree, limits);
  return commit;
}

/** A server gives a commit by its whole name only. */
function asShortened(cause: unknown, ref: string | null): unknown {
  if (!(cause instanceof SkillboxError) || cause.code !== 'SOURCE_FAILED') return cause;
  if (ref === null || !/^[0-9a-f]{7,39}$/.test(ref)) return cause;
  const hint = `If ${ref} is a commit, write all its 40 digits.`;
  return new SkillboxError('SOURCE_FAILED', cause.message, { cause, hint });
}

async function listTree(
  repository: string,
  commit: string,
  folder: string | null,
  limits: FetchLimits,
): Promise<TreeEntry[]> {
  const scope = folder === null ? commit : `${commit}:${folder}`;
  let listing: Buffer;
  try {
    listing = await runGit(repository, ['ls-tree', '-r', '-z', '-l', '--full-tree', scope], limits);
  } catch (cause) {
    if (folder === null) throw cause;
    throw new SkillboxError('NOT_FOUND', `there is no folder ${showPath(folder)} in the repository`, { cause });
  }
  const entries: TreeEntry[] = [];
  for (const line of listing.toString('utf8').split('\0')) {
    const match = /^(\d{6}) (\w+) ([0-9a-f]+) +(\d+|-)\t([\s\S]+)$/.exec(line);
    if (match === null) continue;
    const [, mode = '', type = '', id = '', size = '', path = ''] = match;
    entries.push({ mode, type, id, size: Number(size) || 0, path });
  }
  const bytes = entries.reduce((sum, { size }) => sum + size, 0);
  if (entries.length > MAX_ENTRIES) throw tooLarge(`has more than ${MAX_ENTRIES} files`);
  if (bytes > MAX_BYTES) throw tooLarge(`holds ${renderSize(bytes)}`);
  return entries;
}

function tooLarge(why: string): SkillboxError {
  return new SkillboxError('SOURCE_FAILED', `the repository ${why}`, {
    hint: 'Name the sub-folder that holds the skills: SOURCE#REF:FOLDER.',
  });
}

async function writeTree(
  repository: string,
  entries: readonly TreeEntry[],
  tree: string,
  limits: FetchLimits,
): Promise<void> {
  mkdirSync(tree, { recursive: true });
  const blobs = entries.filter(({ type }) => type === 'blob');
  const unsafe = blobs.find(({ path }) => !isInside(path));
  if (unsafe !== undefined) {
    throw new SkillboxError('SOURCE_REFUSED', `the repository holds the name ${showPath(unsafe.path)}`);
  }
  const place = (entry: TreeEntry) => {
    const full = join(tree, entry.path);
    mkdirSync(dirname(full), { recursive: true });
    return full;
  };
  for (const batch of batches(blobs.filter(({ mode }) => mode !== LINK))) {
    for (const [entry, content] of await readBlobs(repository, batch, limits)) {
      const full = place(entry);
      writeFileSync(full, content, { flag: 'wx' });
      chmodSync(full, entry.mode === '100755' ? 0o700 : 0o600);
    }
  }
  const links = blobs.filter(({ mode }) => mode === LINK);
  // Last, so that nothing is ever written through one. The reader of skills judges where they lead.
  for (const [entry, target] of await readBlobs(repository, links, limits)) {
    symlinkSync(target.toString('utf8').replaceAll('\0', '') || '.', place(entry));
  }
}

/** Git refuses such names itself when it checks what it fetched; this does not rely on it. */
function isInside(path: string): boolean {
  return path.split('/').every(part => !['', '.', '..'].includes(part) && part.toLowerCase() !== '.git');
}

function* batches(entries: readonly TreeEntry[]): Generator<TreeEntry[]> {
  let batch: TreeEntry[] = [];
  let bytes = 0;
  for (const entry of entries) {
    if (entry.size > BATCH_BYTES) throw tooLarge(`holds ${showPath(entry.path)} of ${renderSize(entry.size)}`);
    if (batch.length > 0 && bytes + entry.size > BATCH_BYTES) {
      yield batch;
      batch = [];
      bytes = 0;
    }
    batch.push(entry);
    bytes += entry.size;
  }
  if (batch.length > 0) yield batch;
}

async function readBlobs(
  repository: string,
  entries: readonly TreeEntry[],
  limits: FetchLimits,
): Promise<[TreeEntry, Buffer][]> {
  if (entries.length === 0) return [];
  const wish = entries.map(({ id }) => `${id}\n`).join('');
  const answer = await runGit(repository, ['cat-file', '--batch', '--buffer'], limits, wish);
  const found: [TreeEntry, Buffer][] = [];
  let at = 0;
  for (const entry of entries) {
    const end = answer.indexOf(10, at);
    const [id, type, size] = answer.subarray(at, Math.max(at, end)).toString('latin1').split(' ');
    if (id !== entry.id || type !== 'blob' || Number(size) !== entry.size) {
      throw new SkillboxError('SOURCE_FAILED', `git did not give ${showPath(entry.path)}`);
    }
    found.push([entry, answer.subarray(end + 1, end + 1 + entry.size)]);
    at = end + 1 + entry.size + 1;
  }
  return found;
}
