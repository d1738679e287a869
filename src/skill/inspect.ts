import type { BigIntStats } from 'node:fs';
import { accessSync, constants, lstatSync, realpathSync } from 'node:fs';
import { errnoOf } from '../base/index.ts';
import type { DiagnosticCode } from './codes.ts';
import type { FileEntry } from './folder.ts';
import type { IgnoreRules } from './ignore.ts';
import { showPath } from './names.ts';
import { type Snapshot, stateOf } from './snapshot.ts';

/** A file that is part of the skill, and what identifies the state in which it was found. */
export type Found = { entry: FileEntry; snapshot: Snapshot };

export type Report = (code: DiagnosticCode, path: string, what: string) => void;

/** The file at `source`, listed as `path`; null, with a report, when it cannot be part of the skill. */
export function inspectFile(root: string, path: string, source: string, report: Report): Found | null {
  const full = `${root}/${source}`;
  let stats: BigIntStats;
  try {
    stats = lstatSync(full, { bigint: true });
    // Readable by everybody in the usual case, which saves the question.
    if ((Number(stats.mode) & 0o444) !== 0o444) accessSync(full, constants.R_OK);
  } catch (error) {
    report('folder-unreadable', path, `cannot be read (${errnoOf(error)}); it is left out`);
    return null;
  }
  if (!stats.isFile()) {
    report('folder-special-file', path, 'is not a regular file any more; it is left out');
    return null;
  }
  if (stats.nlink > 1n) report('folder-hard-link', path, `has ${stats.nlink} hard links`);
  const executable = (Number(stats.mode) & 0o111) !== 0;
  return {
    entry: { path, size: Number(stats.size), executable },
    snapshot: { path, source, state: stateOf(stats) },
  };
}

/** a link counts only when its last target is a regular file of this skill, under whatever chain of links. */
export function inspectLink(root: string, path: string, rules: IgnoreRules, report: Report): Found | null {
  const target = resolveLink(root, path, rules);
  if ('refused' in target) {
    report('folder-link-outside', path, `is a link that ${target.refused}; it is left out`);
    return null;
  }
  report('folder-link-inside', path, `is a link; it is read as a copy of ${showPath(target.source)}`);
  return inspectFile(root, path, target.source, report);
}

function resolveLink(root: string, path: string, rules: IgnoreRules): { source: string } | { refused: string } {
  let real: string;
  let isFile: boolean;
  try {
    real = realpathSync.native(`${root}/${path}`);
    isFile = lstatSync(real).isFile();
  } catch {
    // Dangling, a loop, or through a directory that is closed to us: in each case nothing can be read through it.
    return { refused: 'leads nowhere' };
  }
  // With the slash: `/skills/a-secret` is not inside `/skills/a`.
  const inside = root.endsWith('/') ? root : `${root}/`;
  if (!real.startsWith(inside)) return { refused: 'leads out of the skill' };
  if (!isFile) return { refused: 'does not lead to a regular file' };
  const source = real.slice(inside.length);
  // `notes.md -> .env` would carry a secret under another name, `x -> .git/config` what is ignored.
  if (rules.judge(source) !== 'taken') return { refused: `leads to ${showPath(source)}, which is left out itself` };
  return { source };
}
