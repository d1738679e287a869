import {
  parseCpu,
  parseDuration,
  parseSize,
  renderDuration,
  renderSize,
  suggest,
  type YamlNode,
} from '../base/index.ts';
import {
  BOUND_CUSTOMS,
  type Entrypoint,
  type Findings,
  type Folder,
  type NetworkNeed,
  SHIPPED_ENDPOINTS,
  type Skill,
} from '../skill/index.ts';
import { checkBody } from './body.ts';
import type { Call, Dialect, Invocation } from './dialect.ts';
import { languageOf, sortFiles } from './files.ts';
import type { Field } from './frontmatter.ts';
import { invokeMain } from './invoke-main.ts';
import { baseSkill } from './model.ts';
import { FieldReader, readDescription, readName, scalarText } from './rules.ts';
import { setIfFits } from './runtime.ts';
import { findEntrypoints } from './skillbox.ts';
import {
  findDocument,
  innerPath,
  MANIFEST_NAMES,
  type Manifest,
  parseDocument,
  readText,
  reportEncoding,
  reportProblems,
  type SkillDocument,
  type Source,
} from './source.ts';

const MAX_DESCRIPTION = 200;
const DEFAULT_TIMEOUT_MS = 300_000;
const MAX_TIMEOUT_MS = 3_600_000;
const MAX_CPUS = 64;
const MAX_MEMORY_BYTES = 64 * 1024 ** 3;
// SK-14: what runs, first match; the skillbox entrypoints follow.
const ENTRYPOINTS = ['index.js', 'index.mjs', 'main.sh'];
const CAPABILITY = /^[a-z0-9][a-z0-9_-]*\/[A-Za-z0-9][\w.-]*$/;
/** Names of what is sent to somebody, unlike a key to sign with: such a secret can be bound to where it is sent. */
const SENT_TO_A_HOST = /(?:^|[-_.])(?:api-?key|token|bearer|password)(?:$|[-_.])/i;
const WILDCARD = /^(?!custom\/)[a-z0-9][a-z0-9_-]*\/\*$/;

export const seksbot: Dialect = {
  name: 'seksbot',
  recognise: source => (source.manifest === null ? null : `the folder has ${source.manifest.path}`),
  read,
  invoke,
};

function read(source: Source, findings: Findings, capabilities: readonly string[]): Skill | null {
  const { folder, manifest } = source;
  if (manifest === null) return null;
  reportEncoding(manifest, findings);
  reportProblems(manifest, manifest.problems, findings);
  const others = MANIFEST_NAMES.filter(name => name !== manifest.path && folder.file(name) !== null);
  if (others.length > 0) {
    const place = { file: manifest.path, line: 1, column: 1 };
    findings.report('manifest-several', place, `${manifest.path} is read; ${others.join(', ')} is not`);
  }
  if (manifest.fields === null) return null;

  const reader = new FieldReader(manifest, manifest.fields, findings);
  const name = readName(reader, folder.name, { unicode: false, matchFolder: false });
  const description = readDescription(reader, MAX_DESCRIPTION, 'description-too-long');
  checkFormatVersion(reader);
  const network = readNetwork(reader);
  const { secrets, unread } = readCapabilities(reader, network, capabilities);
  const limits = readLimits(reader);
  const image = reader.text('container_image');
  const emoji = reader.text('emoji');
  const author = reader.text('author');
  const always = reader.boolean('always', false, false);
  const os = reader.texts('os', /[,\s]+/);
  const document = readInstructions(reader, manifest, folder, findings);
  const extra = reader.extra();
  if (document !== null) checkBody(document, folder, findings);
  const own = new Set([manifest.path, ...(document === null ? [] : [document.path])]);
  const files = sortFiles(folder, own, findings);
  if (name === null || description === null) return null;
  const skill = baseSkill('seksbot', name, description, document?.body ?? '');
  return {
    ...skill,
    ...files,
    main: findMain(folder),
    needs: { ...skill.needs, network, secrets, ...(unread.length === 0 ? {} : { unread }), image, limits },
    offer: { ...skill.offer, os, always },
    about: { ...skill.about, emoji, author },
    extra,
  };
}

/** SK-03: `version` is the manifest's format, not the skill's version. */
function checkFormatVersion(reader: FieldReader): void {
  const field = reader.get('version');
  const version = reader.text('version');
  if (version !== null && version !== '1') {
    const message = `version is ${JSON.stringify(version)}; it names the manifest's format, of which only 1 exists`;
    reader.report('manifest-version', field, message);
  }
}

function readNetwork(reader: FieldReader): NetworkNeed {
  const field = reader.get('container_network');
  const text = reader.text('container_network');
  if (field === null || text === null) return 'broker';
  if (!field.repaired && text === 'broker-only') return 'broker';
  if (!field.repaired && text === 'none') return 'none';
  const message = `container_network is ${JSON.stringify(text)}, neither broker-only nor none; none holds`;
  reader.report('power-field-doubtful', field, message);
  return 'none';
}

/** SK-02/04/05: an entry that is no capability grants nothing, and is kept, so that no run begins with fewer than were declared. */
function readCapabilities(
  reader: FieldReader,
  network: NetworkNeed,
  known: readonly string[],
): { secrets: string[]; unread: string[] } {
  const field = reader.get('capabilities');
  if (field === null) {
    reader.report('capabilities-missing', null, 'there is no list of capabilities');
    return { secrets: [], unread: [] };
  }
  if (field.node.kind !== 'list' || field.repaired) {
    reader.report(
      'power-field-doubtful',
      field,
      'capabilities is not a list that can be read for sure; it grants nothing',
    );
    // `capabilities:` with nothing behind it declares nothing.
    const isNothing = field.node.kind === 'scalar' && field.node.value === null;
    return { secrets: [], unread: isNothing ? [] : [scalarText(field.node)] };
  }
  const unread: string[] = [];
  const capabilities = field.node.items.flatMap(item => {
    const text = scalarText(item);
    if (item.kind === 'scalar' && WILDCARD.test(text)) {
      reader.reportAt('capability-wildcard', item, `"${text}" asks for every endpoint of its provider`);
      checkKnown(reader, item, text, known);
      return [text];
    }
    if (item.kind === 'scalar' && CAPABILITY.test(text)) {
      checkKnown(reader, item, text, known);
      return [text];
    }
    reader.reportAt('capability-invalid', item, `${JSON.stringify(text)} is neither provider/endpoint nor custom/key`);
    unread.push(text);
    return [];
  });
  if (field.node.items.length === 0) reader.report('capabilities-empty', field, 'the list of capabilities is empty');
  if (capabilities.length > 0 && network === 'none') {
    reader.report('capabilities-no-network', field, 'capabilities need the broker, but container_network is none');
  }
  return { secrets: [...new Set(capabilities)], unread };
}

/** SK-04: what no provider has is refused when the run asks for its token; said here, before anybody runs it. */
function checkKnown(reader: FieldReader, item: YamlNode, text: string, known: readonly string[]): void {
  const [provider = '', endpoint = ''] = text.split('/');
  if (provider === 'custom') {
    if (!SENT_TO_A_HOST.test(endpoint) || BOUND_CUSTOMS.includes(endpoint)) return;
    reader.reportAt('capability-released', item, `the skill gets the value of ${text} unless it is bound to its host`);
    return;
  }
  const shipped = Object.hasOwn(SHIPPED_ENDPOINTS, provider) ? (SHIPPED_ENDPOINTS[provider] ?? []) : [];
  const all = [...shipped.map(name => `${provider}/${name}`), ...known];
  if (endpoint === '*' ? all.some(name => name.startsWith(`${provider}/`)) : all.includes(text)) return;
  const names = Object.entries(SHIPPED_ENDPOINTS).flatMap(([name, endpoints]) =>
    endpoints.map(each => `${name}/${each}`),
  );
  const meant = suggest(text, [...names, ...known]);
  const more = meant === null ? '' : `; did you mean ${meant}?`;
  reader.reportAt('capability-unknown', item, `no provider has "${text}"${more}`);
}

function readLimits(reader: FieldReader): Skill['needs']['limits'] {
  const timeoutMs = reader.limit(
    'container_timeout',
    parseDuration,
    DEFAULT_TIMEOUT_MS,
    MAX_TIMEOUT_MS,
    renderDuration,
  );
  const own = (key: string, parse: (text: string) => number | null, max: number, render: (n: number) => string) => {
    const field = reader.get(key);
    if (field === null || isEmpty(field)) return null;
    const value = reader.limit(key, parse, 0, max, n => (n === 0 ? 'the default' : render(n)));
    return value === 0 ? null : value;
  };
  return {
    timeoutMs,
    memoryBytes: own('container_memory', parseSize, MAX_MEMORY_BYTES, renderSize),
    cpus: own('container_cpu', parseCpu, MAX_CPUS, String),
  };
}

function isEmpty(field: Field): boolean {
  return field.node.kind === 'scalar' && field.node.text.trim() === '';
}

/** SK-01: SKILL.md or the file that `skillMdPath` names inside the folder. Its frontmatter, if any, is not instructions. */
function readInstructions(
  reader: FieldReader,
  manifest: Manifest,
  folder: Folder,
  findings: Findings,
): SkillDocument | null {
  const field = reader.get('skillMdPath');
  const given = reader.text('skillMdPath');
  const inner = given === null ? findDocument(folder) : innerPath(given);
  if (given !== null && inner === null) {
    reader.report('instructions-outside', field, `skillMdPath "${given}" leads out of the skill`);
    return null;
  }
  const entry = inner === null ? null : folder.file(inner);
  if (inner === null || entry === null) {
    const place = field === null ? { file: manifest.path, line: 1, column: 1 } : reader.place(field);
    findings.report('instructions-missing', place, `there is no ${given ?? 'SKILL.md'} with instructions`);
    return null;
  }
  if (entry.size > 1024 * 1024) {
    const place = { file: inner, line: 1, column: 1 };
    findings.report('skill-md-too-large', place, `${inner} has ${entry.size} bytes; at most 1048576 are read`);
    return null;
  }
  const file = readText(folder, inner);
  reportEncoding(file, findings);
  const document = parseDocument(file);
  // The manifest is the metadata: only what opens the file plainly is frontmatter, not an example further down.
  if (/^---[ \t]*\r?\n/.test(file.text)) return document;
  return { ...document, frontmatter: { fields: null, bodyAt: 0, problems: [] }, body: file.text };
}

function findMain(folder: Folder): Entrypoint | null {
  const own = ENTRYPOINTS.flatMap(name => [name, `scripts/${name}`]).find(path => folder.file(path) !== null);
  const path = own ?? findEntrypoints(folder)[0];
  const language = path === undefined ? null : languageOf(path);
  return path === undefined || language === null ? null : { path, language };
}

/** SK-14: the task in SEKS_SKILL_TASK; broker address and token are set by the run that has them. */
function invoke(skill: Skill, call: Call): Invocation {
  const invocation = invokeMain(skill, call);
  const { warnings } = invocation;
  const env: Record<string, string> = { ...invocation.env, SEKS_SKILL_NAME: skill.name };
  const task = typeof call.input === 'string' ? call.input : JSON.stringify(call.input ?? null);
  setIfFits(env, 'SEKS_SKILL_TASK', task, warnings, 'read /sandbox/input.json');
  return { ...invocation, env, warnings };
}
