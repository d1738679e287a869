import type { Dirent } from 'node:fs';
import { lstatSync, opendirSync, readdirSync } from 'node:fs';
import { errnoOf, renderSize, SkillboxError } from '../base/index.ts';
import { type Diagnostic, Findings, sortDiagnostics } from './diagnostic.ts';
import { comparePaths } from './folder.ts';
import { defaultRules, IGNORE_FILE, loadIgnoreRules } from './ignore.ts';
import { type Found, inspectFile, inspectLink, type Report } from './inspect.ts';
import { type FolderLimits, maxEntries } from './limits.ts';
import { checkPath, MAX_DEPTH, NameIndex, showPath } from './names.ts';
import { readSnapshot } from './snapshot.ts';

/** A directory file above this size may list millions of names; they are then read one by one, up to the limit. */
const LARGE_DIRECTORY_BYTES = 1024 ** 2;

/** Lists the files under `root` (a real path) without following a link; throws only when `root` itself fails. */
export function walk(root: string, limits: FolderLimits): { files: Found[]; problems: Diagnostic[] } {
  const walker = new Walker(root, limits);
  walker.run();
  return { files: walker.finish(), problems: sortDiagnostics(walker.findings.list) };
}

class Walker {
  readonly findings = new Findings('strict');
  readonly #root: string;
  readonly #limits: FolderLimits;
  readonly #found: Found[] = [];
  readonly #pending: { path: string; depth: number }[] = [];
  #rules = defaultRules();
  #entriesLeft: number;
  #bytesLeft: number;
  #stopped = false;

  constructor(root: string, limits: FolderLimits) {
    this.#root = root;
    this.#limits = limits;
    this.#entriesLeft = maxEntries(limits);
    this.#bytesLeft = limits.maxBytes;
  }

  run(): void {
    const top = list(this.#root, this.#entriesLeft);
    const ignoreFile = top.find(one => one.name === IGNORE_FILE && (one.isFile() || one.isSymbolicLink()));
    if (ignoreFile !== undefined) this.#readIgnoreFile(ignoreFile);
    this.#visitAll(ignoreFile === undefined ? top : top.filter(one => one !== ignoreFile), '', 1);
    for (let next = this.#pending.pop(); next !== undefined; next = this.#pending.pop()) {
      if (!this.#stopped) this.#visitDirectory(next.path, next.depth);
    }
  }

  /** In byte order, so that the first of two colliding names wins on every machine. */
  finish(): Found[] {
    if (this.#found.length < 2) return this.#found;
    this.#found.sort((a, b) => comparePaths(a.entry.path, b.entry.path));
    const names = new NameIndex();
    return this.#found.filter(({ entry }) => {
      const earlier = names.add(entry.path, 'file');
      if (earlier === null) return true;
      this.#report('folder-name-collision', entry.path, `meets ${showPath(earlier)} on some systems; it is left out`);
      return false;
    });
  }

  #visitDirectory(path: string, depth: number): void {
    let dirents: Dirent[];
    try {
      dirents = list(`${this.#root}/${path}`, this.#entriesLeft);
    } catch (error) {
      this.#report('folder-unreadable', path, `cannot be listed (${errnoOf(error)})`);
      return;
    }
    this.#visitAll(dirents, path, depth);
  }

  #visitAll(dirents: Dirent[], directory: string, depth: number): void {
    for (const dirent of dirents) {
      if (this.#stopped) return;
      if (this.#entriesLeft-- <= 0) this.#stop('.', `has more than ${maxEntries(this.#limits)} entries`);
      else this.#visit(dirent, directory === '' ? dirent.name : `${directory}/${dirent.name}`, depth);
    }
  }

  #visit(dirent: Dirent, path: string, depth: number): void {
    const isDirectory = dirent.isDirectory();
    const ignored = isDirectory && this.#rules.ignoresDirectory(path);
    const verdict = ignored ? 'ignored' : isDirectory ? 'taken' : this.#rules.judgeFile(path);
    const unsafe = verdict === 'taken' ? checkPath(path) : null;
    if (this.#rules.exhausted) this.#stop(IGNORE_FILE, 'takes too long to match');
    else if (verdict === 'secret') this.#report('folder-secret-file', path, 'usually holds secrets; it is left out');
    else if (unsafe !== null) this.#report('folder-name-unsafe', path, `${unsafe}; it is left out`);
    else if (verdict === 'taken') this.#visitTaken(dirent, path, depth);
  }

  #visitTaken(dirent: Dirent, path: string, depth: number): void {
    if (dirent.isFile()) this.#take(inspectFile(this.#root, path, path, this.#report));
    else if (dirent.isSymbolicLink()) this.#take(inspectLink(this.#root, path, this.#rules, this.#report));
    else if (!dirent.isDirectory()) {
      this.#report('folder-special-file', path, 'is a device, a socket or a FIFO; it is left out');
    } else if (depth >= MAX_DEPTH) this.#stop(path, `is a directory below ${MAX_DEPTH} levels`);
    else this.#pending.push({ path, depth: depth + 1 });
  }

  #take(found: Found | null): void {
    if (found === null) return;
    this.#bytesLeft -= found.entry.size;
    if (this.#found.length >= this.#limits.maxFiles) this.#stop('.', `has more than ${this.#limits.maxFiles} files`);
    else if (this.#bytesLeft < 0) this.#stop('.', `has more than ${renderSize(this.#limits.maxBytes)}`);
    else this.#found.push(found);
  }

  /** Read once, before anything else: the rules and the file in the list must be the same bytes. */
  #readIgnoreFile(dirent: Dirent): void {
    const found = dirent.isFile()
      ? inspectFile(this.#root, IGNORE_FILE, IGNORE_FILE, this.#report)
      : inspectLink(this.#root, IGNORE_FILE, this.#rules, this.#report);
    this.#take(found);
    if (found === null) return;
    try {
      const read = () => readSnapshot(this.#root, found.snapshot);
      const { rules, problem } = loadIgnoreRules(found.entry.size, read);
      this.#rules = rules;
      // An error in either mode: nothing is packed by rules that its author did not write.
      if (problem !== null) this.#report('folder-too-large', IGNORE_FILE, `${problem} and is not followed`);
    } catch (error) {
      if (!(error instanceof SkillboxError)) throw error;
      this.#report('folder-unreadable', IGNORE_FILE, 'cannot be read');
    }
  }

  #stop(path: string, why: string): void {
    this.#stopped = true;
    this.#report('folder-too-large', path, `${why}; reading stopped there`);
  }

  readonly #report: Report = (code, path, what) => {
    const file = showPath(path);
    this.findings.report(code, { file, line: 1, column: 1 }, `${path === '.' ? 'The skill' : file} ${what}`);
  };
}

function list(full: string, max: number): Dirent[] {
  const stats = lstatSync(full);
  // A link in the place of a directory that was one a moment ago is not followed.
  if (!stats.isDirectory()) throw Object.assign(new Error(`${full} is not a directory`), { code: 'ENOTDIR' });
  if (stats.size <= LARGE_DIRECTORY_BYTES) return readdirSync(full, { withFileTypes: true });
  const directory = opendirSync(full);
  try {
    const dirents: Dirent[] = [];
    for (let next = directory.readSync(); next !== null && dirents.length <= max; next = directory.readSync()) {
      dirents.push(next);
    }
    return dirents;
  } finally {
    directory.closeSync();
  }
}
