import { isSemver, SkillboxError, visibleLine } from '../base/index.ts';
import { checkName } from '../dialects/index.ts';
import { checkPath } from '../skill/index.ts';
import { isVersion, MAX_WANTED, readsAsRange } from './resolve.ts';

/** What `latest` means is computed, so nobody may be called that. */
const LATEST = 'latest';
const TAG = /^[a-z][a-z0-9]*(?:[._-][a-z0-9]+)*$/;
const MAX_TAG = 64;

/** Why a name cannot be published; null when it can. Names become paths, URLs and words of command lines. */
export function whyNoName(name: string): string | null {
  try {
    checkName(name.slice(0, 200));
  } catch (error) {
    if (error instanceof SkillboxError) return `${error.message}. ${error.hint}`;
    throw error;
  }
  if (name === LATEST) return '"latest" is not a name: it stands for the newest version';
  const unsafe = checkPath(name);
  return unsafe === null ? null : `the name "${name}" ${unsafe}`;
}

/** A version that can be published, and compared with others. */
export function requireVersion(version: string): string {
  if (isSemver(version) && isVersion(version)) return version;
  throw new SkillboxError('VERSION_MISSING', `"${visibleLine(version, 80)}" is no version that can be published`, {
    hint: 'Write three numbers, each below 2^53: 1.0.0.',
  });
}

/** A tag that nobody can take for a version, a range or `latest`. */
export function requireTag(tag: string): string {
  const shown = visibleLine(tag, 80);
  const refuse = (why: string) =>
    new SkillboxError('USAGE', `"${shown}" ${why}`, {
      hint: 'A tag is a word in lowercase letters and digits, like stable or team-a.',
    });
  if (tag === LATEST) throw refuse('is no tag: it always stands for the highest version');
  if (tag.length > MAX_TAG || !TAG.test(tag)) throw refuse('is no tag');
  if (isVersion(tag) || readsAsRange(tag)) throw refuse('is no tag: it reads as a version');
  return tag;
}

/** Whether there can be a skill of that name at all: what cannot be is not asked for. */
export function isName(name: string): boolean {
  return name.length <= MAX_WANTED && whyNoName(name) === null;
}
