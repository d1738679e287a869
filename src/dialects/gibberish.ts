import { renderDuration } from '../base/index.ts';
import type { Findings, Folder, Mode, Skill, Tool } from '../skill/index.ts';
import type { Dialect } from './dialect.ts';
import { invokeTool } from './gibberish/invoke.ts';
import { locateProgram } from './gibberish/program.ts';
import { hasToolSection, readTools } from './gibberish/tools.ts';
import { baseSkill } from './model.ts';
import { type FieldReader, readDescription, readName, readVersion } from './rules.ts';
import { openDocument, readRemainder } from './skill-document.ts';
import { placeOf, type SkillDocument, type Source } from './source.ts';

const MAX_DESCRIPTION = 256;
const DEFAULT_TIMEOUT_MS = 30_000;
const MAX_TIMEOUT_MS = 300_000;
export const GIBBERISH_KEYS = ['modes', 'read_only', 'always_ask'] as const;
const MODES: readonly Mode[] = ['Global', 'Dev', 'Meeting'];

export const gibberish: Dialect = { name: 'gibberish', recognise, read, invoke: invokeTool };

function recognise(source: Source): string | null {
  const { document } = source;
  if (document === null) return null;
  const key = GIBBERISH_KEYS.find(name => document.frontmatter.fields?.has(name));
  if (key !== undefined) return `frontmatter has "${key}"`;
  return hasToolSection(document.body) ? 'an H3 section holds "#### Command"' : null;
}

function read(source: Source, findings: Findings): Skill | null {
  const open = openDocument(source, findings);
  if (open === null) return null;
  const { document, folder, reader } = open;
  const name = readName(reader, folder.name, { unicode: false, matchFolder: true });
  const version = readVersion(reader, true);
  const description = readDescription(reader, MAX_DESCRIPTION, 'description-truncated');
  const author = reader.text('author');
  const modes = readModes(reader);
  const readOnly = reader.boolean('read_only', false, false);
  const alwaysAsk = reader.boolean('always_ask', false, true);
  const timeoutMs = reader.limit('timeout', parseSeconds, DEFAULT_TIMEOUT_MS, MAX_TIMEOUT_MS, renderDuration);
  const network = reader.boolean('network', false, false) ? 'open' : 'none';
  const toModels = !reader.boolean('disable-model-invocation', false, true);
  const bodyLine = placeOf(document, document.frontmatter.bodyAt).line;
  const { tools, fatal } = readTools(document.body, bodyLine, document.path, findings);
  for (const tool of tools) checkProgram(tool, document, folder, findings);
  const remainder = readRemainder(open, findings, 'gibberish-field-unknown');
  const missing = reportMissing(findings);
  if (missing || name === null || version === null || description === null || fatal) return null;
  const skill = baseSkill('gibberish', name, cut(description), document.body);
  return {
    ...skill,
    ...remainder,
    version,
    tools,
    needs: { ...skill.needs, network, readOnly, alwaysAsk, limits: { timeoutMs, memoryBytes: null, cpus: null } },
    offer: { ...skill.offer, toModels, modes },
    about: { ...skill.about, author },
  };
}

/** GB-16: a missing field is fatal here, however leniently it is read; the folder's name does not stand in. */
function reportMissing(findings: Findings): boolean {
  const missing = findings.list.filter(({ code }) => code === 'name-missing' || code === 'version-missing');
  for (const finding of missing) {
    finding.severity = 'error';
    if (finding.code === 'name-missing') finding.message = 'there is no name';
  }
  return missing.length > 0;
}

/** GB-10: a program that is named by a path of the skill is there; what a run would refuse, lint refuses too. */
function checkProgram(tool: Tool, document: SkillDocument, folder: Folder, findings: Findings): void {
  const program = tool.command[0]?.pieces.map(piece => (piece.kind === 'text' ? piece.text : '')).join('') ?? '';
  const found = locateProgram(program);
  if (found.kind === 'skill' ? folder.file(found.path) !== null : found.kind !== 'outside') return;
  const place = { file: document.path, line: tool.line, column: 1 };
  findings.report('template-program-missing', place, `${tool.name} runs ${program}, which is not in the skill`);
}

/** GB-03: whole seconds. */
function parseSeconds(text: string): number | null {
  return /^[1-9]\d*$/.test(text.trim()) ? Number(text) * 1000 : null;
}

/** Absent: Global. A list that names no known mode is offered in none. */
function readModes(reader: FieldReader): Mode[] {
  const field = reader.get('modes');
  if (field === null || (field.node.kind === 'scalar' && field.node.value === null)) return ['Global'];
  const known: Mode[] = [];
  for (const text of reader.texts('modes', /[,\s]+/)) {
    const mode = MODES.find(candidate => candidate === text);
    if (mode === undefined) reader.report('mode-invalid', field, `"${text}" is none of ${MODES.join(', ')}`);
    else if (!known.includes(mode)) known.push(mode);
  }
  return known;
}

/** GB-02: cut at 256 characters, never inside one. */
function cut(description: string): string {
  const points = Array.from(description);
  return points.length > MAX_DESCRIPTION ? points.slice(0, MAX_DESCRIPTION).join('') : description;
}
