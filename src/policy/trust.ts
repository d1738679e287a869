import { type Account, visibleLine } from '../base/index.ts';
import type { FolderOrigin } from '../skill/index.ts';
import { serverOf } from './arrived.ts';
import type { Vouched } from './judge.ts';
import { findStranger, findStrangerBelow, findStrangerOnTheWay, liesIn, realPath } from './place.ts';

/** Where a skill was found; the path is the real one, as it was when the skill was read. */
export type SkillPlace = {
  kind: FolderOrigin['kind'];
  path: string;
  /** As a registry or a signature proved it; never what a skill says of itself. */
  publisher: string | null;
  /** What of a folder was read, as paths in it: whoever can write to one of them has written the skill. */
  files: readonly string[];
};

export type TrustSettings = {
  /** What ships with Skillbox. */
  bundled: readonly string[];
  /** The user's own directories of skills. */
  own: readonly string[];
  /** What the user trusted by name. */
  paths: readonly string[];
  publishers: readonly string[];
  account: Account;
};

/**
 * Who vouches for a place (GB-17). By real path: a link that leaves a trusted directory leaves the trust behind. Nothing goes
 * by a skill's name, so one that shadows another inherits nothing (SK-12).
 */
export function trustOf(place: SkillPlace, settings: TrustSettings): Vouched {
  const { publisher } = place;
  const untrusted = (why: string): Vouched => ({ trust: 'untrusted', publisher, why });
  if (place.kind === 'registry') return trustOfPublished(publisher, settings);
  const real = realPath(place.path);
  if (real === null) return untrusted(`${place.path} is not there.`);
  // Followed now, a link would vouch for other files than those that were read.
  if (real !== place.path) return untrusted(`${place.path} leads elsewhere since it was read.`);
  if (publisher !== null && settings.publishers.includes(publisher)) {
    return { trust: 'user', publisher, why: `You trust the publisher ${publisher}.` };
  }
  const { root, doubt } = findRoot(real, place, settings);
  if (root === null) return untrusted(doubt ?? whyNot(place, real));
  const stranger =
    findStranger(real, root.path, settings.account) ??
    (place.kind === 'directory' ? findStrangerBelow(real, place.files, settings.account) : null);
  if (stranger !== null) return untrusted(`It lies in ${root.path}, which you trust, but ${stranger}.`);
  return { trust: root.trust, publisher, why: root.why };
}

/** What is in a registry lies nowhere: only whoever published it can be trusted. */
function trustOfPublished(publisher: string | null, { publishers }: TrustSettings): Vouched {
  if (publisher !== null && publishers.includes(publisher)) {
    return { trust: 'user', publisher, why: `You trust the publisher ${publisher}.` };
  }
  return { trust: 'untrusted', publisher, why: `${publisher ?? 'Somebody'} published it, whom you have not trusted.` };
}

type Root = { path: string; trust: 'bundled' | 'user'; why: string };

/** The nearest trusted directory that holds the place. */
function findRoot(
  real: string,
  { kind }: SkillPlace,
  { bundled, own, paths, account }: TrustSettings,
): { root: Root | null; doubt: string | null } {
  let doubt: string | null = null;
  const server = kind === 'directory' ? serverOf(real) : null;
  const given: (Omit<Root, 'path'> & { path: string; linked: boolean })[] = [
    ...bundled.map(path => ({ path, trust: 'bundled' as const, why: 'It ships with Skillbox.', linked: true })),
    ...own.map(path => ({ path, trust: 'user' as const, why: `It lies in ${path}, your own skills.`, linked: true })),
    // As real as they were when they were trusted: a link that took their place since is not followed.
    ...paths.map(path => ({ path, trust: 'user' as const, why: `You trust ${path}.`, linked: false })),
  ];
  const roots = given.flatMap((root): Root[] => {
    const path = realPath(root.path);
    if (path === null || (!root.linked && path !== root.path)) return [];
    // Archives are carried about: one is trusted by its own name, not for where it was put.
    if (kind === 'archive' ? path !== real : !liesIn(real, path)) return [];
    // What an MCP server gave is nobody's for where it was put.
    if (server !== null && (root.linked || path !== real)) {
      doubt = `It came from the MCP server ${visibleLine(server, 200)}, and you have not trusted it by itself.`;
      return [];
    }
    const stranger = root.linked ? findStrangerOnTheWay(root.path, account) : null;
    if (stranger === null) return [{ path, trust: root.trust, why: root.why }];
    doubt = `It lies in ${root.path}, but ${stranger}.`;
    return [];
  });
  const nearest = roots.reduce<Root | null>((best, root) => {
    return best === null || root.path.length > best.path.length ? root : best;
  }, null);
  return { root: nearest, doubt };
}

function whyNot({ kind, path }: SkillPlace, real: string): string {
  if (kind === 'archive') return `${path} is an archive that you have not trusted.`;
  return `${real} is neither in your own skill directories nor trusted by you.`;
}
