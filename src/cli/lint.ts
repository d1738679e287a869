import { readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { type ErrorCode, SkillboxError } from '../base/index.ts';
import { checkTargets, decodeText, readSkill, type Target } from '../dialects/index.ts';
import {
  type Diagnostic,
  type DialectName,
  digestFolder,
  Findings,
  type Folder,
  hasErrors,
  openFolder,
} from '../skill/index.ts';

export type LintOptions = {
  dialect: DialectName | null;
  targets: readonly Target[];
  digest: boolean;
  fix: boolean;
  /** Of the operator's own providers. */
  capabilities: readonly string[];
};

/** One row of `lint --json`. */
export type LintResult = {
  path: string;
  dialect: DialectName | null;
  name: string | null;
  version: string | null;
  digest: string | null;
  /** A lenient client would load it. */
  loads: boolean;
  /** Strict reading finds no error. */
  ok: boolean;
  diagnostics: Diagnostic[];
};
/** `lineOf` gives the text of a finding's line, for code frames; it is null once the skill is closed. */
export type Linted = LintResult & { lineOf: (diagnostic: Diagnostic) => string | null; fixed: number };

// A skill's faults are data, also those that stop its reading; the operator's own faults stay exceptions.
const SKILL_FAULTS: Partial<Record<ErrorCode, 'archive-unsafe' | 'archive-too-large'>> = {
  ARCHIVE_UNSAFE: 'archive-unsafe',
  ARCHIVE_TOO_LARGE: 'archive-too-large',
};

export async function lintSkill(path: string, options: LintOptions): Promise<Linted> {
  let folder: Folder;
  try {
    folder = await openFolder(path);
  } catch (error) {
    return refused(path, error);
  }
  try {
    let linted = await lintFolder(path, folder, options);
    if (!options.fix || folder.origin.kind !== 'directory') return linted;
    const fixed = applyFixes(folder.origin.path, linted.diagnostics);
    if (fixed === 0) return linted;
    const again = await openFolder(path);
    try {
      linted = await lintFolder(path, again, options);
    } finally {
      again.close();
    }
    return { ...linted, fixed };
  } finally {
    folder.close();
  }
}

async function lintFolder(path: string, folder: Folder, options: LintOptions): Promise<Linted> {
  const reading = readSkill(folder, {
    mode: 'strict',
    dialect: options.dialect,
    capabilities: options.capabilities,
  });
  const diagnostics = [...reading.diagnostics, ...checkTargets(options.targets, folder, reading.skill)];
  const lines = linesFor(folder, diagnostics);
  return {
    path,
    dialect: reading.dialect,
    name: reading.skill?.name ?? null,
    version: reading.skill?.version ?? null,
    digest: options.digest ? await digestFolder(folder) : null,
    loads: reading.skill !== null,
    ok: !hasErrors(diagnostics),
    diagnostics,
    lineOf: diagnostic => lines.get(diagnostic) ?? null,
    fixed: 0,
  };
}

function refused(path: string, error: unknown): Linted {
  const code = error instanceof SkillboxError ? SKILL_FAULTS[error.code] : undefined;
  if (code === undefined || !(error instanceof SkillboxError)) throw error;
  const findings = new Findings('strict');
  findings.report(code, { file: basename(path), line: 1, column: 1 }, error.message, { hint: error.hint });
  return {
    path,
    dialect: null,
    name: null,
    version: null,
    digest: null,
    loads: false,
    ok: false,
    diagnostics: findings.list,
    lineOf: () => null,
    fixed: 0,
  };
}

const MAX_FRAMED_BYTES = 1024 * 1024;

function linesFor(folder: Folder, diagnostics: readonly Diagnostic[]): Map<Diagnostic, string> {
  const texts = new Map<string, string[]>();
  const lines = new Map<Diagnostic, string>();
  for (const diagnostic of diagnostics) {
    const size = folder.file(diagnostic.file)?.size;
    if (size === undefined || size > MAX_FRAMED_BYTES) continue;
    let text = texts.get(diagnostic.file);
    if (text === undefined) {
      text = decodeText(folder.read(diagnostic.file, MAX_FRAMED_BYTES)).text.split(/\r\n?|\n/);
      texts.set(diagnostic.file, text);
    }
    const line = text[diagnostic.line - 1];
    if (line !== undefined) lines.set(diagnostic, line);
  }
  return lines;
}

/** Applies the edits, last first so that offsets hold; each file is replaced at once or not at all. */
function applyFixes(root: string, diagnostics: readonly Diagnostic[]): number {
  const byFile = Map.groupBy(
    diagnostics.filter(diagnostic => diagnostic.fix !== null),
    diagnostic => diagnostic.file,
  );
  let applied = 0;
  for (const [file, found] of byFile) {
    const path = join(root, file);
    let text = readFileSync(path, 'utf8');
    let before = Number.POSITIVE_INFINITY;
    for (const { fix } of found.toSorted((a, b) => (b.fix?.start ?? 0) - (a.fix?.start ?? 0))) {
      if (fix === null || fix.end > before) continue;
      text = text.slice(0, fix.start) + fix.text + text.slice(fix.end);
      before = fix.start;
      applied++;
    }
    replaceFile(path, text);
  }
  return applied;
}

function replaceFile(path: string, text: string): void {
  const temporary = join(dirname(path), `.${basename(path)}.${process.pid}.tmp`);
  try {
    writeFileSync(temporary, text, { mode: statSync(path).mode, flag: 'wx' });
    renameSync(temporary, path);
  } catch (cause) {
    rmSync(temporary, { force: true });
    throw new SkillboxError('UNWRITABLE', `cannot write ${path}`, { cause });
  }
}
