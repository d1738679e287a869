import semver from 'semver';
import { isSemver } from '../base/index.ts';

/** Versions and ranges are short; what is longer is nobody's wish. */
export const MAX_WANTED = 256;

export type Candidate = { version: string; yanked: boolean; tags: readonly string[] };

/** `yanked`: what was meant is there, and is offered to nobody any more. */
export type Choice<T> = { kind: 'found'; one: T } | { kind: 'yanked'; one: T } | { kind: 'none' };

/**
 * Which version is meant: an exact one, a tag, a range, or `latest`. In this order, and a tag is never a version or a range,
 * so that a word means one thing. Yanked ones are found by their exact version only.
 */
export function pickVersion<T extends Candidate>(candidates: readonly T[], wanted: string | null): Choice<T> {
  const offered = candidates.filter(one => !one.yanked);
  if (wanted === null || wanted === '' || wanted === 'latest') return found(latestOf(offered));
  if (wanted.length > MAX_WANTED) return { kind: 'none' };
  const exact = candidates.find(one => one.version === wanted);
  if (exact !== undefined) return { kind: 'found', one: exact };
  const tagged = candidates.find(one => one.tags.includes(wanted));
  if (tagged !== undefined) return { kind: tagged.yanked ? 'yanked' : 'found', one: tagged };
  // semver takes builds for equal: the same word would mean another content once that very version is published.
  if (isSemver(wanted) || !readsAsRange(wanted)) return { kind: 'none' };
  const range = new semver.Range(wanted);
  return found(highest(offered.filter(one => range.test(one.version))));
}

/** SB-04: the highest that is no pre-release, unless there are only pre-releases. */
function latestOf<T extends Candidate>(offered: readonly T[]): T | null {
  return highest(offered.filter(one => semver.prerelease(one.version) === null)) ?? highest(offered);
}

/** Build metadata decides between equals, so that there is one answer. */
function highest<T extends Candidate>(candidates: readonly T[]): T | null {
  return candidates.reduce<T | null>(
    (best, one) => (best === null || semver.compareBuild(one.version, best.version) > 0 ? one : best),
    null,
  );
}

function found<T>(one: T | null): Choice<T> {
  return one === null ? { kind: 'none' } : { kind: 'found', one };
}

/** The highest first. */
export function byVersion(a: { version: string }, b: { version: string }): number {
  return semver.compareBuild(b.version, a.version);
}

export function isVersion(text: string): boolean {
  return semver.parse(text) !== null;
}

export function readsAsRange(text: string): boolean {
  return text.length <= MAX_WANTED && semver.validRange(text) !== null;
}
