import type { Findings, Skill } from '../skill/index.ts';
import { checkBody } from './body.ts';
import type { Dialect } from './dialect.ts';
import { sortFiles } from './files.ts';
import { invokeScript } from './invoke-script.ts';
import { baseSkill } from './model.ts';
import { FieldReader, readDescription, readName, readVersion } from './rules.ts';
import { reportDocument, type Source } from './source.ts';

const NOT_WORKSPACE = ['metadata', 'allowed-tools', 'compatibility'];
const MAX_DESCRIPTION = 1024;

export const workspace: Dialect = { name: 'workspace', recognise, read, invoke: invokeScript };

function recognise(source: Source): string | null {
  const fields = source.document?.frontmatter.fields;
  if (!fields || NOT_WORKSPACE.some(key => fields.has(key))) return null;
  const key = ['tags', 'author'].find(name => fields.has(name));
  return key === undefined ? null : `frontmatter has "${key}" and none of ${NOT_WORKSPACE.join(', ')}`;
}

function read(source: Source, findings: Findings): Skill | null {
  const { document, folder } = source;
  if (document === null) return null;
  reportDocument(document, findings);
  const { fields } = document.frontmatter;
  if (fields === null) return null;

  const reader = new FieldReader(document, fields, findings);
  const name = readName(reader, folder.name, { unicode: false, matchFolder: true });
  const description = readDescription(reader, MAX_DESCRIPTION, 'description-too-long');
  const version = readVersion(reader, false);
  const about = {
    license: reader.text('license'),
    author: reader.text('author'),
    tags: reader.texts('tags', /,/),
  };
  const toModels = !reader.boolean('disable-model-invocation', false, true);
  const toUsers = reader.boolean('user-invocable', true, false);
  const extra = reader.extra();
  checkBody(document, folder, findings);
  const files = sortFiles(folder, new Set([document.path]), findings);
  if (name === null || description === null) return null;
  const skill = baseSkill('workspace', name, description, document.body);
  return {
    ...skill,
    ...files,
    version,
    offer: { ...skill.offer, toModels, toUsers },
    about: { ...skill.about, ...about },
    extra,
  };
}
