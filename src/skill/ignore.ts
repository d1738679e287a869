import { compilePattern, matches, type Pattern, type Subject, takeApart, type Work } from './glob.ts';
import { isSecretFile } from './secret-files.ts';

export const IGNORE_FILE = '.skillboxignore';
export const MAX_IGNORE_BYTES = 64 * 1024;
export const MAX_IGNORE_PATTERNS = 1000;
/** Less than a second of matching; 10,000 files against 100 ordinary patterns need less than half of it. */
const MAX_STEPS = 50_000_000;

/** What tools leave behind and no skill needs. `.gitignore` and the like are files as any other. */
const VERSION_CONTROL = ['.git', '.hg', '.svn', '.jj'];
const INSTALLED = ['node_modules', '.venv', '__pycache__', '.pytest_cache', '.mypy_cache', '.ruff_cache', '.tox'];
const DESKTOP = ['.DS_Store', '__MACOSX', 'Icon\r', 'Thumbs.db', 'desktop.ini'];
const EDITORS = ['.idea', '.vscode'];
const LEFT_OUT = new Set([...VERSION_CONTROL, ...INSTALLED, ...DESKTOP, ...EDITORS]);
const LEFT_OUT_SUFFIXES = ['.pyc', '.pyo', '.swp', '.swo', '~'];

/** `secret` is left out as `ignored` is, but somebody has to hear of it. */
export type Verdict = 'taken' | 'ignored' | 'secret';

type Rule = { pattern: Pattern; negated: boolean; directoryOnly: boolean };

/** Which paths of a folder belong to the skill; the same for a directory and for a zip of it. */
export class IgnoreRules {
  readonly #rules: readonly Rule[];
  readonly #work: Work = { left: MAX_STEPS };
  readonly #directories = new Map<string, boolean>();

  constructor(rules: readonly Rule[]) {
    this.#rules = rules;
  }

  /** The patterns were built to cost more than any folder needs; verdicts after this moment mean nothing. */
  get exhausted(): boolean {
    return this.#work.left < 0;
  }

  /** A file whose directories are all taken. */
  judgeFile(path: string): Verdict {
    // Always part of the skill: without it, a zip of the folder would be read by other rules than the folder.
    if (path === IGNORE_FILE) return 'taken';
    const named = this.#lastMatch(path, false);
    if (named === 'ignored') return 'ignored';
    const name = path.slice(path.lastIndexOf('/') + 1);
    // Before the negation counts: `!.env` must not bring a secret into a package.
    if (isSecretFile(name)) return 'secret';
    return named ?? (isLeftOut(name, false) ? 'ignored' : 'taken');
  }

  ignoresDirectory(path: string): boolean {
    const name = path.slice(path.lastIndexOf('/') + 1);
    return (this.#lastMatch(path, true) ?? (isLeftOut(name, true) ? 'ignored' : 'taken')) === 'ignored';
  }

  /** For those who do not walk: as in git, nothing comes back from inside an ignored directory. */
  judge(path: string): Verdict {
    const slash = path.lastIndexOf('/');
    return slash !== -1 && this.#isInsideIgnored(path.slice(0, slash)) ? 'ignored' : this.judgeFile(path);
  }

  #isInsideIgnored(directory: string): boolean {
    const known = this.#directories.get(directory);
    if (known !== undefined) return known;
    const slash = directory.lastIndexOf('/');
    const above = slash !== -1 && this.#isInsideIgnored(directory.slice(0, slash));
    const ignored = above || this.ignoresDirectory(directory);
    this.#directories.set(directory, ignored);
    return ignored;
  }

  /** What `.skillboxignore` says: the last rule that matches wins. */
  #lastMatch(path: string, directory: boolean): 'taken' | 'ignored' | null {
    if (this.#rules.length === 0) return null;
    const subject: Subject = takeApart(path);
    for (let at = this.#rules.length - 1; at >= 0; at--) {
      const rule = this.#rules[at];
      if (rule === undefined || (rule.directoryOnly && !directory)) continue;
      if (matches(rule.pattern, subject, this.#work)) return rule.negated ? 'taken' : 'ignored';
    }
    return null;
  }
}

function isLeftOut(name: string, directory: boolean): boolean {
  if (LEFT_OUT.has(name)) return true;
  // A folder `venv` is a virtual environment; a file of that name is somebody's.
  if (directory) return name === 'venv';
  return name.startsWith('._') || LEFT_OUT_SUFFIXES.some(suffix => name.endsWith(suffix));
}

/** Without a `.skillboxignore`. */
export function defaultRules(): IgnoreRules {
  return new IgnoreRules([]);
}

/** The rules of a `.skillboxignore`, or why it is not followed: half of it would pack what its author left out. */
export function loadIgnoreRules(size: number, read: () => Buffer): { rules: IgnoreRules; problem: string | null } {
  if (size > MAX_IGNORE_BYTES) return { rules: defaultRules(), problem: 'is over 64 KiB' };
  const content = read();
  const rules: Rule[] = [];
  for (const line of content
    .toString('utf8')
    .replace(/^\ufeff/, '')
    .split('\n')) {
    const rule = parseRule(line);
    if (rule === null) continue;
    rules.push(rule);
    if (rules.length > MAX_IGNORE_PATTERNS) {
      return { rules: defaultRules(), problem: `has more than ${MAX_IGNORE_PATTERNS} patterns` };
    }
  }
  return { rules: new IgnoreRules(rules), problem: null };
}

function parseRule(line: string): Rule | null {
  let text = trimEnd(line);
  if (text === '' || text.startsWith('#')) return null;
  const negated = text.startsWith('!');
  if (negated) text = text.slice(1);
  const directoryOnly = text.endsWith('/');
  while (text.endsWith('/')) text = text.slice(0, -1);
  return text === '' ? null : { pattern: compilePattern(text), negated, directoryOnly };
}

/** Trailing blanks do not count unless the last is escaped (`\ `). Counted by hand: `/\s+$/` is quadratic. */
function trimEnd(line: string): string {
  let end = line.endsWith('\r') ? line.length - 1 : line.length;
  while (end > 0 && (line[end - 1] === ' ' || line[end - 1] === '\t') && line[end - 2] !== '\\') end--;
  return line.slice(0, end);
}
