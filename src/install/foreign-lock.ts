import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isObject, type JsonObject, type JsonValue, SkillboxError, visibleLine } from '../base/index.ts';
import type { Folder } from '../skill/index.ts';
import { checkInstallName, type LockedSource, parseObject, readListed } from './lock-file.ts';
import type { Scope } from './scope.ts';
import { checkFolder, checkGitUrl, checkRef } from './source.ts';
import { checkUrl } from './url.ts';

/** A skill that another installer put here. Its folder is null where the list does not say. */
export type ForeignSkill = { name: string; source: LockedSource; folder: string | null; hash: string | null };

export type ForeignLock = {
  path: string;
  skills: ForeignSkill[];
  /** What cannot be taken over, and why. */
  left: { name: string; why: string }[];
};

/** The two lists in use: `skills-lock.json` of a project (version 1), `.skill-lock.json` of a user (version 3). */
const LISTS = {
  project: { version: 1, places: ['skills-lock.json'] },
  user: { version: 3, places: ['.agents/.skill-lock.json', '.local/state/skills/.skill-lock.json'] },
} as const;

export function readForeignLock(scope: Scope): ForeignLock {
  const { version, places } = LISTS[scope.kind];
  const path = places.map(place => join(scope.root, place)).find(place => existsSync(place));
  if (path === undefined) {
    throw new SkillboxError('NOT_FOUND', `there is no ${places[0]} in ${scope.root}`, {
      hint: 'Nothing to take over. `skillbox add` installs skills.',
    });
  }
  const text = readListed(path) ?? '';
  try {
    return { path, ...parseForeignLock(text, version) };
  } catch (cause) {
    if (!(cause instanceof SkillboxError)) throw cause;
    throw new SkillboxError('LOCK_INVALID', `${path}: ${cause.message}`, { cause, hint: 'It was left as it is.' });
  }
}

export function parseForeignLock(text: string, version: number): Omit<ForeignLock, 'path'> {
  const document = parseObject(text);
  if (document.version !== version || !isObject(document.skills)) {
    throw new SkillboxError('LOCK_INVALID', `it is no list of version ${version}`);
  }
  const found: Omit<ForeignLock, 'path'> = { skills: [], left: [] };
  for (const [name, entry] of Object.entries(document.skills)) {
    try {
      checkInstallName(name);
      found.skills.push(parseEntry(name, entry));
    } catch (cause) {
      if (!(cause instanceof SkillboxError)) throw cause;
      found.left.push({ name: visibleLine(name, 80), why: cause.message });
    }
  }
  return found;
}

function parseEntry(name: string, entry: JsonValue): ForeignSkill {
  if (!isObject(entry)) throw new SkillboxError('LOCK_INVALID', 'its entry is no object');
  const { skillPath, computedHash } = entry;
  const folder = typeof skillPath === 'string' ? dirname(skillPath.replaceAll('\\', '/')) : null;
  return {
    name,
    source: sourceOf(entry),
    folder: folder === null ? null : folder === '.' ? '' : checkFolder(folder),
    hash: typeof computedHash === 'string' ? computedHash : null,
  };
}

function sourceOf({ sourceType, source, sourceUrl, ref }: JsonObject): LockedSource {
  const url = typeof sourceUrl === 'string' && sourceUrl !== '' ? sourceUrl : null;
  const from = typeof source === 'string' ? source : '';
  const branch = typeof ref === 'string' ? checkRef(ref) : null;
  const git = (address: string): LockedSource => ({ kind: 'git', url: checkGitUrl(address), ref: branch, commit: '' });
  if (sourceType === 'local') return { kind: 'path', path: url ?? from };
  if (sourceType === 'well-known' && url !== null) return { kind: 'well-known', url: checkUrl(url).href };
  if (sourceType === 'github' && /^[\w.-]+\/[\w.-]+$/.test(from)) return git(url ?? `https://github.com/${from}.git`);
  if ((sourceType === 'git' || sourceType === 'gitlab') && url !== null) return git(url);
  throw new SkillboxError(
    'SOURCE_UNSUPPORTED',
    `its source ${visibleLine(JSON.stringify(sourceType ?? null), 40)} cannot be used`,
  );
}

/** The other installer's digest of a folder, so that it can be said whether the source still has those bytes. */
export function foreignHash(folder: Folder): string {
  const hash = createHash('sha256');
  const files = [...folder.files].sort((a, b) => a.path.localeCompare(b.path));
  for (const { path, size } of files) hash.update(path).update(folder.read(path, size));
  return hash.digest('hex');
}
