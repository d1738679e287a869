import type { Findings, Skill } from '../skill/index.ts';
import type { Dialect } from './dialect.ts';
import type { Fields } from './frontmatter.ts';
import { invokeScript } from './invoke-script.ts';
import { baseSkill } from './model.ts';
import { readDescription, readName, readVersion } from './rules.ts';
import { openDocument, readInvocability, readRemainder } from './skill-document.ts';
import type { Source } from './source.ts';

const NOT_WORKSPACE = ['metadata', 'allowed-tools', 'compatibility'];
const MAX_DESCRIPTION = 1024;

export const workspace: Dialect = { name: 'workspace', recognise, read, invoke: invokeScript };

function recognise(source: Source): string | null {
  const fields = source.document?.frontmatter.fields;
  const key = fields ? workspaceKey(fields) : null;
  return key === null ? null : `frontmatter has "${key}" and none of ${NOT_WORKSPACE.join(', ')}`;
}

/** The field by which the frontmatter is of this dialect, or null. */
export function workspaceKey(fields: Fields): string | null {
  if (NOT_WORKSPACE.some(key => fields.has(key))) return null;
  return ['tags', 'author'].find(name => fields.has(name)) ?? null;
}

function read(source: Source, findings: Findings): Skill | null {
  const open = openDocument(source, findings);
  if (open === null) return null;
  const { document, folder, reader } = open;
  const name = readName(reader, folder.name, { unicode: false, matchFolder: true });
  const description = readDescription(reader, MAX_DESCRIPTION, 'description-too-long');
  const version = readVersion(reader, false);
  const about = {
    license: reader.text('license'),
    author: reader.text('author'),
    tags: reader.texts('tags', /,/),
  };
  const invocability = readInvocability(reader);
  const remainder = readRemainder(open, findings);
  if (name === null || description === null) return null;
  const skill = baseSkill('workspace', name, description, document.body);
  return {
    ...skill,
    ...remainder,
    version,
    offer: { ...skill.offer, ...invocability },
    about: { ...skill.about, ...about },
  };
}
