import type { JsonObject } from '../base/index.ts';
import type { DiagnosticCode, Findings, Folder, Resource, Script } from '../skill/index.ts';
import { checkBody } from './body.ts';
import { sortFiles } from './files.ts';
import type { Fields } from './frontmatter.ts';
import { FieldReader } from './rules.ts';
import { reportDocument, type SkillDocument, type Source } from './source.ts';

/** A SKILL.md whose frontmatter can be read: where the four dialects that live in one file begin. */
export type OpenDocument = { document: SkillDocument; folder: Folder; fields: Fields; reader: FieldReader };

/** Says what is wrong with the file itself; null when nobody could read its fields. */
export function openDocument({ document, folder }: Source, findings: Findings): OpenDocument | null {
  if (document === null) return null;
  reportDocument(document, findings);
  const { fields } = document.frontmatter;
  return fields === null ? null : { document, folder, fields, reader: new FieldReader(document, fields, findings) };
}

export type Invocability = { toModels: boolean; toUsers: boolean };

/** Fields that clients added and Skillbox honours; in doubt the skill is offered to fewer. */
export function readInvocability(reader: FieldReader): Invocability {
  return {
    toModels: !reader.boolean('disable-model-invocation', false, true),
    toUsers: reader.boolean('user-invocable', true, false),
  };
}

export type Remainder = { extra: JsonObject; scripts: Script[]; resources: Resource[] };

/** After the dialect's own fields: those that nobody asked for, the body, and the other files. */
export function readRemainder(
  { document, folder, reader }: OpenDocument,
  findings: Findings,
  unknown: DiagnosticCode = 'field-unknown',
): Remainder {
  const extra = reader.extra(unknown);
  checkBody(document, folder, findings);
  return { extra, ...sortFiles(folder, new Set([document.path]), findings) };
}
