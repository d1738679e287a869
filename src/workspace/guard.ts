import { join, relative, sep } from 'node:path';
import {
  enclosingGits,
  findHidden,
  foldName,
  GUARDED,
  hold,
  isSecretName,
  namesIn,
  obeyedElsewhere,
  release,
  SkillboxError,
  statIn,
  visibleLine,
} from '../base/index.ts';
import { descend } from './descend.ts';

const GUARDED_KEYS: ReadonlySet<string> = new Set(['.git', ...GUARDED].map(foldName));

/** WS-10. Stricter than a sandbox's mounts: at every depth, because nobody looks at what was written before the next agent does. */
function isGuarded(name: string): boolean {
  return GUARDED_KEYS.has(foldName(name));
}

function isSecret(name: string): boolean {
  return isSecretName(foldName(name));
}

/** What is wrong with the names themselves: characters that nobody sees, and names that mean something else elsewhere. */
export function checkNames(parts: readonly string[]): void {
  for (const part of parts) {
    const hidden = findHidden(part);
    const bad = hidden !== null || /[\t\n]/.test(part) ? 'a character that is not seen' : null;
    // `.git::$INDEX_ALLOCATION` is `.git` on NTFS, and a backslash is a separator there.
    const other = /[\\:]/.test(part) ? 'a character that separates on other systems' : null;
    const why = bad ?? other;
    if (why !== null) throw new SkillboxError('PATH_OUTSIDE', `the name "${visibleLine(part)}" holds ${why}`);
  }
}

/** Secrets are neither read nor written. */
export function checkSecrets(parts: readonly string[]): void {
  const found = parts.find(isSecret);
  if (found !== undefined) throw refusal(parts, `"${visibleLine(found)}" is a name for secrets`);
}

/** What git, a shell, an editor or an agent would obey is not written. */
export function checkGuarded(parts: readonly string[]): void {
  const found = parts.find(isGuarded);
  if (found !== undefined) throw refusal(parts, `programs obey what "${visibleLine(found)}" says`);
}

/** A guarded name at the root may be a link: what it leads to is then what is obeyed, or is the secret. */
export function checkLinked(root: string, parts: readonly string[], writing: boolean): void {
  const held = hold(root);
  try {
    for (const name of namesIn(held)) {
      if (!isSecret(name) && !(writing && isGuarded(name))) continue;
      if (statIn(held, name)?.isSymbolicLink() !== true) continue;
      const target = resolveLink(root, name);
      if (target?.every((part, index) => foldName(part) === foldName(parts[index] ?? ''))) {
        throw refusal(parts, `"${visibleLine(name)}" is a link to it`);
      }
    }
  } finally {
    release(held);
  }
}

/** Nor is what git executes, or reads as its config, though it lies among the other files of a repository. */
export function checkObeyed(root: string, parts: readonly string[]): void {
  const enclosing = enclosingGits(root).map(git => relative(root, git));
  const gits = parts.map((_, depth) => join(...parts.slice(0, depth), '.git'));
  for (const git of [...gits, ...enclosing]) {
    const elsewhere = obeyedElsewhere(root, git);
    if (elsewhere === null) throw refusal(parts, 'its repository has git obey more than can be looked for');
    for (const path of elsewhere) {
      const obeyed = path.split(sep);
      if (obeyed.every((part, index) => foldName(part) === foldName(parts[index] ?? '')))
        throw refusal(parts, `the repository has git obey "${visibleLine(path)}"`);
    }
  }
}

function resolveLink(root: string, name: string): readonly string[] | null {
  try {
    const reached = descend(root, [name], null);
    if (reached === null) return null;
    release(reached.parent);
    return reached.parts;
  } catch (error) {
    if (error instanceof SkillboxError) return null; // leads out: nothing inside is meant by it
    throw error;
  }
}

function refusal(parts: readonly string[], why: string): SkillboxError {
  return new SkillboxError('PATH_PROTECTED', `${visibleLine(parts.join('/'))} is protected: ${why}`);
}
