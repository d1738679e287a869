import { basename, dirname, join, resolve } from 'node:path';
import { type Account, SkillboxError } from '../base/index.ts';
import { kindOf } from '../skill/index.ts';
import { findStranger, realPath } from './place.ts';
import type { TrustEntry } from './trust-store.ts';

export type TrustWord = Pick<TrustEntry, 'kind' | 'value'>;

const PUBLISHER = /^@([a-z0-9](?:[a-z0-9._-]{0,126}[a-z0-9])?)$/i;

/** `@acme` is a publisher; everything else is a path, so that no folder's name can stand for somebody. */
function publisherOf(word: string): TrustWord | null {
  if (!word.startsWith('@')) return null;
  const name = PUBLISHER.exec(word)?.[1];
  if (name !== undefined) return { kind: 'publisher', value: name };
  throw new SkillboxError('USAGE', `"${word}" is no publisher`, {
    hint: 'Write @ and letters, digits, dots or dashes; a folder of that name is written with ./ before it.',
  });
}

/** What a person wants to trust: the real path, if nobody else can change what lies there. */
export function toTrust(word: string, cwd: string, account: Account, holdsHome: (real: string) => boolean): TrustWord {
  const publisher = publisherOf(word);
  if (publisher !== null) return publisher;
  const path = resolve(cwd, word);
  // A SKILL.md names its skill, as for every command: the folder that it was named in, wherever a link leads.
  const real = realPath(kindOf(path) === 'skill-md' ? dirname(path) : path);
  if (real === null) throw new SkillboxError('NOT_FOUND', `there is no ${word}`);
  const kind = kindOf(real);
  if (kind !== 'directory' && kind !== 'zip') {
    throw new SkillboxError('USAGE', `${word} is no folder and no archive`, {
      hint: 'Trust the folder of the skill, or one that holds several.',
    });
  }
  if (holdsHome(real)) {
    throw new SkillboxError('USAGE', `${real} holds your home directory, with all that was ever downloaded to it`, {
      hint: 'Trust the folder that holds the skills.',
    });
  }
  const stranger = findStranger(real, real, account);
  if (stranger !== null) {
    throw new SkillboxError('USAGE', `${real} cannot be trusted: ${stranger}`, {
      hint: 'Take the right to write from others (chmod o-w), or copy the skill to a place of your own.',
    });
  }
  return { kind: 'path', value: real };
}

/** What a person wants to trust no longer; the place may be gone by now. */
export function toDistrust(word: string, cwd: string): TrustWord[] {
  const publisher = publisherOf(word);
  if (publisher !== null) return [publisher];
  const path = resolve(cwd, word);
  const meant = basename(path).toLowerCase() === 'skill.md' ? [path, dirname(path)] : [path];
  const names = meant.flatMap(each => {
    const parent = realPath(dirname(each));
    return [realPath(each), parent === null ? null : join(parent, basename(each)), each];
  });
  return [...new Set(names)].flatMap(value => (value === null ? [] : [{ kind: 'path' as const, value }]));
}
