import { foldName, GIT_GUARDED } from './guarded-names.ts';

/** Threat: git obeys the config of a folder that holds these names, without any `.git`; or that of another one, which `commondir` names. */
export function isBare(names: ReadonlySet<string>): boolean {
  return names.has('HEAD') && (names.has('commondir') || (names.has('objects') && names.has('refs')));
}

const OWN: ReadonlySet<string> = new Set(
  ['HEAD', 'objects', 'refs', ...GIT_GUARDED.map(path => path.split('/')[0] ?? '')].map(foldName),
);

/** Of files that are to be written: what would be part of such a folder. `namesIn`: what is there already, by the path of a folder. */
export function partsOfRepositories(
  paths: readonly string[],
  namesIn: (folder: string) => readonly string[],
): Set<string> {
  const folders = new Map<string, { names: Set<string>; own: string[] }>();
  for (const path of paths) {
    const parts = path.split('/');
    for (const [depth, part] of parts.entries()) {
      const name = foldName(part);
      if (!OWN.has(name)) continue;
      const above = parts.slice(0, depth).join('/');
      const folder = folders.get(above) ?? { names: new Set(namesIn(above).map(foldName)), own: [] };
      folders.set(above, folder);
      folder.names.add(name);
      folder.own.push(path);
    }
  }
  // As a file system that ignores case would take them.
  const asGit = (names: ReadonlySet<string>) => new Set([...names].map(name => (name === 'head' ? 'HEAD' : name)));
  return new Set([...folders.values()].flatMap(({ names, own }) => (isBare(asGit(names)) ? own : [])));
}
