import { SkillboxError } from '../base/index.ts';
import { type NpmLock, parseNpmLock } from './npm-lock.ts';
import { parseManifest, renderManifest } from './npm-manifest.ts';
import { parseRequirements, renderRequirements } from './requirements.ts';

export const MANAGERS = ['pip', 'npm'] as const;
export type Manager = (typeof MANAGERS)[number];

/** What a skill asks to have installed, checked, in one spelling: equal wishes are equal text. */
export type Manifest =
  | { manager: 'pip'; requirements: string }
  | { manager: 'npm'; packageJson: string; lock: NpmLock | null };

/** A file of the skill, or null where there is none. */
export type ReadFile = (path: string, maxBytes: number) => Buffer | null;

const MAX_LIST_BYTES = 256 * 1024;
const MAX_LOCK_BYTES = 16 * 1024 ** 2;

/** SB-07: both managers, each by its file at the top of the skill. Throws DEPENDENCIES_REFUSED. */
export function readManifests(read: ReadFile): Manifest[] {
  const found: Manifest[] = [];
  const list = text(read, 'requirements.txt', MAX_LIST_BYTES);
  const requirements = list === null ? [] : parseRequirements(list);
  if (requirements.length > 0) found.push({ manager: 'pip', requirements: renderRequirements(requirements) });
  const packageJson = text(read, 'package.json', MAX_LIST_BYTES);
  const manifest = packageJson === null ? null : parseManifest(packageJson);
  if (manifest !== null) {
    // npm takes npm-shrinkwrap.json before package-lock.json; they are the same format.
    const lock = text(read, 'npm-shrinkwrap.json', MAX_LOCK_BYTES) ?? text(read, 'package-lock.json', MAX_LOCK_BYTES);
    found.push({
      manager: 'npm',
      packageJson: renderManifest(manifest),
      lock: lock === null ? null : parseNpmLock(lock, manifest),
    });
  }
  return found;
}

function text(read: ReadFile, path: string, maxBytes: number): string | null {
  const bytes = read(path, maxBytes);
  if (bytes === null) return null;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new SkillboxError('DEPENDENCIES_REFUSED', `${path} is not UTF-8`, { cause, details: { file: path } });
  }
}
