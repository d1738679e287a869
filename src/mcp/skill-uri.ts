const SCHEME = 'skill://';

/** `skill://name/references/a%20b.md`; `path` is '' for the folder of a skill, and the skill '' for all of them. */
export function uriOf(skill: string, path: string): string {
  const parts = [skill, ...path.split('/').filter(part => part !== '')];
  return SCHEME + parts.map(encodePart).join('/');
}

/** The same set of characters as the SDK leaves alone, so that digests are found under the URIs that were listed. */
function encodePart(part: string): string {
  return part.replace(/[^\w!$&'()*+,.:;=@[\]|~-]/gu, found => encodeURIComponent(found));
}

/** Null when it is no URI of a skill. What it names need not be there. */
export function parseUri(uri: string): { skill: string; path: string } | null {
  if (!uri.startsWith(SCHEME)) return null;
  const parts: string[] = [];
  for (const part of uri.slice(SCHEME.length).replace(/\/$/, '').split('/')) {
    const decoded = decodePart(part);
    // A separator that was hidden by encoding, and steps that lead elsewhere, name nothing.
    if (decoded === null || decoded.includes('/') || decoded === '.' || decoded === '..') return null;
    parts.push(decoded);
  }
  const [skill = '', ...path] = parts;
  if (path.includes('')) return null;
  return { skill, path: path.join('/') };
}

function decodePart(part: string): string | null {
  try {
    return decodeURIComponent(part);
  } catch {
    return null; // not a valid encoding
  }
}

export type Child = { name: string; path: string; isFolder: boolean };

/** What lies directly in a folder of a skill; null when there is no such folder. */
export function childrenOf(paths: readonly string[], folder: string): Child[] | null {
  const prefix = folder === '' ? '' : `${folder}/`;
  const found = new Map<string, Child>();
  for (const path of paths) {
    if (!path.startsWith(prefix)) continue;
    const rest = path.slice(prefix.length);
    const [name = ''] = rest.split('/', 1);
    found.set(name, { name, path: `${prefix}${name}`, isFolder: name !== rest });
  }
  return found.size === 0 ? null : [...found.values()];
}
