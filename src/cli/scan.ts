import { realpathSync } from 'node:fs';
import { join, resolve, sep } from 'node:path';
import { errnoOf, SkillboxError, visibleLine } from '../base/index.ts';
import { configDirectory } from '../config/index.ts';
import { readSkill } from '../dialects/index.ts';
import { parseAllowList, type Scan, scanSkill } from '../scan/index.ts';
import { type DialectName, openFolder } from '../skill/index.ts';
import type { Io } from './io.ts';
import { readBounded } from './read-bounded.ts';

/** One row of `scan --json`; `refused` says why it is no answer about a skill: there is none, or its carrier could not be opened. */
export type Scanned = {
  path: string;
  dialect: DialectName | null;
  name: string | null;
  refused: string | null;
  scan: Scan;
};

const NOTHING: Scan = { findings: [], silenced: [], notLookedInto: [], looked: { files: 0, bytes: 0 } };

export async function scanAt(path: string, io: Io, allow: ReadonlySet<string>): Promise<Scanned> {
  try {
    const folder = await openFolder(resolve(io.cwd, path));
    try {
      const { dialect, skill } = readSkill(folder, { mode: 'lenient', dialect: null });
      const refused = dialect === null ? 'there is no skill in it' : null;
      return { path, dialect, name: skill?.name ?? null, refused, scan: scanSkill(folder, skill, { allow }) };
    } finally {
      folder.close();
    }
  } catch (error) {
    // A skill's own fault is an answer; the operator's stays an exception.
    if (!(error instanceof SkillboxError) || !error.code.startsWith('ARCHIVE_')) throw error;
    const scan = { ...NOTHING, notLookedInto: [{ file: path, reason: 'unreadable' as const, detail: error.message }] };
    return { path, dialect: null, name: null, refused: error.message, scan };
  }
}

const MAX_LIST_BYTES = 1024 ** 2;

/** The user's own list, from his configuration or from where he says; never one that comes with what is scanned. */
export async function readAllowList(given: string | null, io: Io, skills: readonly string[]): Promise<Set<string>> {
  const own = given === null ? configDirectory(io.env) : null;
  const path = given === null ? own && join(own, 'scan-allow') : resolve(io.cwd, given);
  if (path === null) return new Set();
  let text: string;
  let real: string;
  try {
    real = realpathSync(path);
    const bytes = await readBounded(real, MAX_LIST_BYTES, io.interrupt);
    if (bytes === null) {
      throw new SkillboxError(
        'UNREADABLE',
        `the allow list ${visibleLine(path)} has more than ${MAX_LIST_BYTES} bytes`,
      );
    }
    text = bytes.toString('utf8');
  } catch (cause) {
    if (cause instanceof SkillboxError) throw cause;
    if (given === null && errnoOf(cause) === 'ENOENT') return new Set();
    if (errnoOf(cause) === 'ENOENT')
      throw new SkillboxError('NOT_FOUND', `there is no allow list ${visibleLine(path)}`, { cause });
    throw new SkillboxError('UNREADABLE', `the allow list ${visibleLine(path)} cannot be read (${errnoOf(cause)})`, {
      cause,
    });
  }
  for (const skill of skills) {
    if (`${real}${sep}`.startsWith(`${realpathSync(resolve(io.cwd, skill))}${sep}`)) {
      throw new SkillboxError(
        'USAGE',
        `the allow list ${visibleLine(path)} lies inside the skill that it would excuse`,
        {
          hint: 'Keep your list outside of what you scan.',
        },
      );
    }
  }
  return parseAllowList(text);
}
