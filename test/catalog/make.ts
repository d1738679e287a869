import { join } from 'node:path';
import {
  type CatalogPlace,
  type CatalogSkill,
  discover,
  type KnownSkill,
  resolveNames,
} from '../../src/catalog/index.ts';
import { tempDirectory, writeFiles } from '../temp.ts';

export function skillText(name: string, description: string, more = ''): string {
  return `---\nname: ${name}\ndescription: ${description}\n${more}---\n\n# ${name}\n`;
}

/** A directory with skills; each value is a description, or the whole of SKILL.md when it starts with a fence. */
export function skillsIn(skills: Record<string, string>, directory = tempDirectory()): string {
  const files = Object.entries(skills).map(([path, text]) => {
    const name = path.split('/').at(-1) ?? path;
    return [`${path}/SKILL.md`, text.startsWith('---') ? text : skillText(name, text)];
  });
  return writeFiles(directory, Object.fromEntries(files));
}

export const user = (path: string): CatalogPlace => ({ kind: 'user', path });

/** As discovery gives it, without any folder on disk. */
export function knownSkill(name: string, description: string, more: Partial<CatalogSkill> = {}): KnownSkill {
  const folder = join('/absolute/path/to', name);
  return {
    dialect: 'agent-skills',
    name,
    description,
    offer: { modes: ['Global'], os: [], always: false, toModels: true, toUsers: true },
    place: user('/absolute/path/to'),
    folder,
    realFolder: folder,
    location: `${folder}/SKILL.md`,
    nested: [],
    ours: true,
    trust: 'user',
    ...more,
  };
}

export function trusted(...places: CatalogPlace[]): readonly KnownSkill[] {
  return resolveNames(discover(places), () => 'user').skills;
}
