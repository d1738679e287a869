import { emptyObject, type JsonObject } from '../base/index.ts';
import type { Findings, Folder, Skill } from '../skill/index.ts';
import type { Dialect } from './dialect.ts';
import { invokeScript } from './invoke-script.ts';
import { baseSkill } from './model.ts';
import { checkHidden, type FieldReader, readAllowedTools, readDescription, readName, scalarText } from './rules.ts';
import { openDocument, readInvocability, readRemainder } from './skill-document.ts';
import type { Source } from './source.ts';
import { toJson } from './yaml.ts';

const MAX_DESCRIPTION = 1024;
const MAX_COMPATIBILITY = 500;

export const agentSkills: Dialect = {
  name: 'agent-skills',
  recognise: source => (source.document === null ? null : 'a SKILL.md that no other dialect claims'),
  read,
  invoke: invokeScript,
};

function read(source: Source, findings: Findings): Skill | null {
  const open = openDocument(source, findings);
  if (open === null) return null;
  const { document, folder, fields, reader } = open;
  const name = readName(reader, folder.name, { unicode: true, matchFolder: true });
  const description = readDescription(reader, MAX_DESCRIPTION, 'description-too-long');
  const metadata = readMetadata(reader);
  const version = wordOf(metadata.version);
  const license = readLicense(reader, folder);
  const compatibility = readCompatibility(reader);
  const allowedTools = readAllowedTools(reader);
  const invocability = readInvocability(reader);
  const meant = fields.get('version');
  if (meant !== undefined) {
    const message = 'a top-level version makes a skillbox skill only together with an entrypoint in scripts/';
    reader.report('version-not-skillbox', meant, message);
  }
  const remainder = readRemainder(open, findings);
  if (name === null || description === null) return null;
  const skill = baseSkill('agent-skills', name, description, document.body);
  return {
    ...skill,
    ...remainder,
    version,
    needs: { ...skill.needs, allowedTools },
    offer: { ...skill.offer, ...invocability },
    about: { ...skill.about, license, author: wordOf(metadata.author), compatibility, metadata },
  };
}

/** AS-06: any mapping; scalars keep their source text, deeper values stay as they are. */
function readMetadata(reader: FieldReader): JsonObject {
  const field = reader.get('metadata');
  const metadata = emptyObject();
  if (field === null || (field.node.kind === 'scalar' && field.node.value === null)) return metadata;
  if (field.node.kind !== 'map') {
    reader.report('field-type', field, `metadata is a ${field.node.kind}, not a mapping; its source is kept`);
    metadata.metadata = field.node.kind === 'scalar' ? field.node.text : toJson(field.node);
    return metadata;
  }
  for (const entry of field.node.entries) {
    metadata[entry.key] = entry.node.kind === 'scalar' ? entry.node.text : toJson(entry.node);
  }
  const nested = field.node.entries.find(entry => entry.node.kind !== 'scalar');
  if (nested !== undefined) {
    reader.reportAt('metadata-nested', nested.node, `metadata.${nested.key} is a ${nested.node.kind}`);
  }
  return metadata;
}

// "Complete terms in LICENSE.txt", "LICENSE", "see ./LICENSE.md": a word that can only be a file.
const LICENSE_FILE =
  /(?:^|[\s("'`[])((?:\.\/)?(?:[\w-]+\/)*(?:[\w.-]+\.(?:txt|md|rst)|LICEN[CS]E|COPYING))(?=$|[\s)"'`\],;:])/;

/** AS-04: where the license names a bundled file, that file exists. */
function readLicense(reader: FieldReader, folder: Folder): string | null {
  const license = reader.text('license');
  const named = license === null ? null : LICENSE_FILE.exec(license);
  const path = named?.[1]?.replace(/^\.\//, '');
  if (path !== undefined && folder.file(path) === null) {
    reader.report(
      'license-file-missing',
      reader.get('license'),
      `the license names ${path}, which is not in the skill`,
    );
  }
  return license;
}

/** AS-05: a string; other shapes, which some clients write, are kept as text. */
function readCompatibility(reader: FieldReader): string | null {
  const field = reader.get('compatibility');
  if (field === null) return null;
  if (field.node.kind !== 'scalar') {
    reader.report('field-type', field, `compatibility is a ${field.node.kind}; text is expected`);
    return scalarText(field.node);
  }
  const text = reader.text('compatibility');
  if (text === null) return null;
  checkHidden(reader, field, 'compatibility', text);
  if (Array.from(text).length > MAX_COMPATIBILITY) {
    reader.report('compatibility-too-long', field, `compatibility has more than ${MAX_COMPATIBILITY} characters`);
  }
  return text;
}

function wordOf(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}
