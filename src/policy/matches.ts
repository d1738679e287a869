import { type Glob, matchesAny, toGlob } from './glob.ts';
import type { NetworkGrant, Request, Target, Verdict } from './policy.ts';
import type { PathWord, Rule, When } from './rules.ts';

/**
 * Whether a rule speaks about a request. Patterns over a list of things mean what is safe: a rule that allows must cover all
 * of them, a rule that asks or denies need meet only one.
 */
export function speaks({ when, verdict, expiresAt }: Rule, request: Request, at: number): boolean {
  if (expiresAt !== null && at >= expiresAt) return false;
  const { grant, skill, target, publisher } = request;
  // Threat: a rule that allows a skill was written for what the skill asks for, and a caller gives it every secret there is.
  if (verdict === 'allow' && when.secrets === null && (request.given?.length ?? 0) > 0) return false;
  // The same of files: no skill asks for any, so whoever meant to allow some has named them.
  if (verdict === 'allow' && when.paths === null && grant.paths.length > 0) return false;
  return (
    within(when.trust, request.trust) &&
    within(when.dialect, request.dialect) &&
    within(when.readOnly, request.readOnly) &&
    within(when.alwaysAsk, request.alwaysAsk) &&
    within(when.isolated, grant.isolated) &&
    named(when.skill, skill.name) &&
    (when.target === null || aimsAt(when.target, target, verdict)) &&
    named(when.publisher, publisher) &&
    reaches(when.network, grant.network, verdict) &&
    uses(when.secrets, grant.secrets, verdict) &&
    opens(when.workspace, grant.workspace === null ? [] : [grant.workspace], verdict) &&
    opens(when.paths, grant.paths, verdict)
  );
}

function within<T>(wanted: readonly T[] | T | null, value: T): boolean {
  return wanted === null || (Array.isArray(wanted) ? wanted.includes(value) : wanted === value);
}

function named(globs: readonly Glob[] | null, name: string | null): boolean {
  return globs === null || (name !== null && matchesAny(globs, name));
}

/** A slash in a command parts no folders: it is where a word of the caller's may begin. */
function aimsAt(globs: readonly Glob[], { kind, name }: Target, verdict: Verdict): boolean {
  if (kind !== 'command') return matchesAny(globs, name);
  // Threat: a pattern without a slash is for a name in any folder, so that `sh -c … ./ls` would be allowed as `ls`.
  if (verdict === 'allow') return globs.some(({ text }) => toGlob(`/:/${text}`).matches(`:/${name}`));
  const plain = (text: string) => text.replaceAll('/', '\0');
  return matchesAny(globs, name) || globs.some(({ text }) => toGlob(plain(text)).matches(plain(name)));
}

function covers(globs: readonly Glob[], items: readonly string[], verdict: Verdict): boolean {
  if (items.length === 0) return false;
  return verdict === 'allow'
    ? items.every(item => matchesAny(globs, item))
    : items.some(item => matchesAny(globs, item));
}

function reaches(wanted: When['network'], network: NetworkGrant, verdict: Verdict): boolean {
  if (wanted === null || wanted.kinds.includes(network.kind)) return true;
  // Whoever reaches everything reaches these hosts too.
  if (network.kind === 'public') return verdict !== 'allow' && wanted.hosts.length > 0;
  return network.kind === 'hosts' && covers(wanted.hosts, network.hosts, verdict);
}

function uses(wanted: When['secrets'], secrets: readonly string[], verdict: Verdict): boolean {
  if (wanted === null) return true;
  if (wanted === 'none') return secrets.length === 0;
  if (wanted === 'any' || secrets.length === 0) return secrets.length > 0;
  const isMet = (name: string) =>
    name.endsWith('/*') ? meetsAll(wanted, name.slice(0, -2), verdict) : matchesAny(wanted, name);
  return verdict === 'allow' ? secrets.every(isMet) : secrets.some(isMet);
}

/** Whoever has all of a provider has each of it: one pattern within is met, and only a pattern for all of it covers it. */
function meetsAll(globs: readonly Glob[], provider: string, verdict: Verdict): boolean {
  return globs.some(({ text }) => {
    const cut = text.indexOf('/');
    const isAll = ['*', '**'].includes(text.slice(cut + 1));
    return toGlob(text.slice(0, cut)).matches(provider) && (isAll || verdict !== 'allow');
  });
}

function opens(
  wanted: PathWord | readonly Glob[] | null,
  places: readonly { path: string; writable: boolean }[],
  verdict: Verdict,
): boolean {
  switch (wanted) {
    case null:
      return true;
    case 'none':
      return places.length === 0;
    case 'any':
      return places.length > 0;
    case 'read':
      return places.length > 0 && places.every(place => !place.writable);
    case 'write':
      return places.some(place => place.writable);
    default:
      return (
        covers(
          wanted,
          places.map(place => place.path),
          verdict,
        ) ||
        (verdict !== 'allow' && places.some(({ path }) => wanted.some(({ text }) => mayHold(path, text))))
      );
  }
}

/** Whoever has a folder has all that lies in it, so it meets what denies a part. Behind `**` a pattern names no folder. */
function mayHold(folder: string, text: string): boolean {
  const depth = folder === '/' ? 1 : folder.split('/').length;
  const above = text.split('/').slice(0, depth);
  return above.length === depth && !above.includes('**') && toGlob(above.join('/') || '/').matches(folder);
}
