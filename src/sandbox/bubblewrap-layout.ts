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
 * twenty of them is a good part of what a sandbox costs. And bwrap follows links: what it puts into a folder that another run
 * can write to could come to lie over anything, PID 1 too.
 */
export function builtByLauncher(places: readonly Place[]): Built {
  const launch: Token[] = ['stage', 'empty', 'root', ...places.flatMap(place => tokensFor(place, `root${place.at}`))];
  const proc = places.filter(({ kind }) => kind === 'proc').flatMap(optionsFor);
  return { launch, bwrap: ['--dev-bind', `${STAGE}/root`, '/', ...proc, ...SEAL] };
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
      return [place.writable ? '--bind' : '--ro-bind', place.source, place.at];
  }
}
