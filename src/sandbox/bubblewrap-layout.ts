import { SkillboxError } from '../base/index.ts';
import type { Token } from './helper.ts';

/** What stands where in a sandbox, in the order in which it is made. */
export type Place =
  | { kind: 'directory' | 'device' | 'proc'; at: string }
  | { kind: 'link'; at: string; target: string }
  | { kind: 'text'; at: string; text: string }
  | {
      kind: 'tree';
      at: string;
      source: string;
      writable: boolean;
      /** `map`: it is the run's, whoever owns it on disk. */
      owner: 'map' | 'keep';
      /** Nobody but Skillbox writes to it: other things may be put into it by name. */
      isOurs: boolean;
    };

type Built = { launch: Token[]; bwrap: string[] };

/** Where the launcher builds, in a mount namespace of its own: see stage_root in the helper. */
const STAGE = '/tmp';
const SEAL = ['--remount-ro', '/'];

/** Where Skillbox is an ordinary user, bwrap makes all of it, one by one. */
export function builtByBwrap(places: readonly Place[]): Built {
  return { launch: [], bwrap: [...places.flatMap(optionsFor), ...SEAL] };
}

/**
 * As root the launcher makes it, and bwrap binds it whole: at each of its binds bwrap reads the list of all mounts, which for
 * twenty of them is a good part of what a sandbox costs. Only what lies in somebody else's tree is left to bwrap, which goes
 * there as the run's own user.
 */
export function builtByLauncher(places: readonly Place[]): Built {
  const launch: Token[] = ['stage', 'empty', 'root'];
  const bwrap = ['--dev-bind', `${STAGE}/root`, '/'];
  const foreign: string[] = [];
  let aside = 0;
  for (const place of places) {
    if (!foreign.some(inside => place.at.startsWith(inside))) {
      launch.push(...tokensFor(place, `root${place.at}`));
      if (place.kind === 'proc') bwrap.push(...optionsFor(place));
    } else if (place.kind === 'tree' || place.kind === 'text') {
      const name = `aside/${aside++}`;
      launch.push(...tokensFor(place, name));
      bwrap.push(...bind(place.kind === 'tree' && place.writable, `${STAGE}/${name}`, place.at));
    } else bwrap.push(...optionsFor(place));
    // From here on: what came before is covered by it.
    if (place.kind === 'link' || (place.kind === 'tree' && !place.isOurs)) foreign.push(`${place.at}/`);
  }
  return { launch, bwrap: [...bwrap, ...SEAL] };
}

function tokensFor(place: Place, at: string): Token[] {
  switch (place.kind) {
    case 'directory':
    case 'proc':
      return ['empty', at];
    case 'device':
      return ['tree', place.at, 'keep', 'device', at];
    case 'link':
      return ['link', place.target, at];
    case 'text':
      return ['text', place.text, at];
    case 'tree':
      return ['tree', place.source, place.owner, place.writable ? 'rw' : 'ro', at];
  }
}

function optionsFor(place: Place): string[] {
  switch (place.kind) {
    case 'directory':
      return ['--dir', place.at];
    case 'proc':
      return ['--proc', place.at];
    case 'device':
      return ['--dev-bind', place.at, place.at];
    case 'link':
      return ['--symlink', place.target, place.at];
    case 'text':
      throw new SkillboxError('INTERNAL', `No file was made for ${place.at}.`);
    case 'tree':
      return bind(place.writable, place.source, place.at);
  }
}

function bind(writable: boolean, source: string, at: string): string[] {
  return [writable ? '--bind' : '--ro-bind', source, at];
}
