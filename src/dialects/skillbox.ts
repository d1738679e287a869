import { parseCpu, parseDuration, parseSize, renderDuration, renderSize } from '../base/index.ts';
import type { Entrypoint, Findings, Folder, Language, Skill } from '../skill/index.ts';
import type { Dialect } from './dialect.ts';
import { languageOf } from './files.ts';
import type { Fields } from './frontmatter.ts';
import { invokeMain } from './invoke-main.ts';
import { baseSkill, DEFAULT_TIMEOUT_MS } from './model.ts';
import { type FieldReader, readDescription, readName, readVersion } from './rules.ts';
import { openDocument, readInvocability, readRemainder } from './skill-document.ts';
import type { Source } from './source.ts';

/** SB-03: the images that need no operator; each stands for the host's own interpreter where no image is there. */
export const DEFAULT_IMAGES = { python: 'python:3.12-slim', node: 'node:20-slim', bash: 'bash:5' } as const;

/** the host interpreter that a default image stands for; any other image must be imported. */
export function hostRuntimeOf(image: string): Lang | null {
  return LANGS.find(lang => DEFAULT_IMAGES[lang] === image) ?? null;
}

export const ENTRYPOINTS = ['main.py', 'main.sh', 'main.js', 'run.py'];
const LANGS = ['python', 'node', 'bash'] as const;
type Lang = (typeof LANGS)[number];

const MAX_TIMEOUT_MS = 600_000;
const DEFAULT_CPUS = 0.5;
const DEFAULT_MEMORY_BYTES = 256 * 1024 ** 2;
const MAX_CPUS = 64;
const MAX_MEMORY_BYTES = 64 * 1024 ** 3;
const MAX_DESCRIPTION = 1024;

export const skillbox: Dialect = { name: 'skillbox', recognise, read, invoke: invokeMain };

function recognise(source: Source): string | null {
  const fields = source.document?.frontmatter.fields;
  if (!fields) return null;
  const key = skillboxKey(fields);
  if (key !== null) return `frontmatter has "${key}"`;
  if (!fields.has('version')) return null;
  const entrypoint = findEntrypoints(source.folder)[0];
  return entrypoint === undefined ? null : `frontmatter has "version" and the folder has ${entrypoint}`;
}

/** The field by which the frontmatter is of this dialect whatever files there are, or null. */
export function skillboxKey(fields: Fields): string | null {
  return ['lang', 'image', 'resources'].find(name => fields.has(name)) ?? null;
}

/** SB-01: in scripts/ first, then at the root. */
export function findEntrypoints(folder: Folder): string[] {
  return [...ENTRYPOINTS.map(name => `scripts/${name}`), ...ENTRYPOINTS].filter(path => folder.file(path) !== null);
}

function read(source: Source, findings: Findings): Skill | null {
  const open = openDocument(source, findings);
  if (open === null) return null;
  const { document, folder, reader } = open;
  const name = readName(reader, folder.name, { unicode: false, matchFolder: false });
  const version = readVersion(reader, true);
  const description = readDescription(reader, MAX_DESCRIPTION, 'description-too-long');
  const main = readMain(reader, folder);
  const image = readImage(reader, main?.language ?? 'python');
  const limits = {
    timeoutMs: reader.limit('timeout', parseDuration, DEFAULT_TIMEOUT_MS, MAX_TIMEOUT_MS, renderDuration),
    ...readResources(reader),
  };
  const about = { license: reader.text('license'), author: reader.text('author'), tags: reader.texts('tags', /,/) };
  const invocability = readInvocability(reader);
  const remainder = readRemainder(open, findings);
  if (name === null || description === null) return null;
  const skill = baseSkill('skillbox', name, description, document.body);
  return {
    ...skill,
    ...remainder,
    version,
    main,
    needs: { ...skill.needs, image, limits },
    offer: { ...skill.offer, ...invocability },
    about: { ...skill.about, ...about },
  };
}

/** SB-01/02: `lang` decides between several entrypoints; without it, python is meant. */
function readMain(reader: FieldReader, folder: Folder): Entrypoint | null {
  const field = reader.get('lang');
  const written = reader.text('lang');
  const lang = written === null ? null : (LANGS.find(name => name === written) ?? null);
  if (written !== null && lang === null) {
    reader.report('lang-invalid', field, `lang is "${written}"; python, node and bash are known`);
  }
  const found = findEntrypoints(folder);
  if (found.length === 0) {
    reader.report('entrypoint-missing', null, `none of ${ENTRYPOINTS.join(', ')} is in scripts/`);
    return null;
  }
  const wanted: Lang = lang ?? 'python';
  const path = found.find(candidate => languageOf(candidate) === wanted) ?? found[0] ?? '';
  const language: Language = languageOf(path) ?? wanted;
  if (language !== wanted && written === null) {
    reader.report(
      'lang-missing',
      null,
      `${path} is ${language}, but without lang the language is python; add "lang: ${language}"`,
    );
  } else if (language !== wanted && lang !== null) {
    reader.report('lang-mismatch', field, `lang is ${lang}, but the entrypoint is ${path}`);
  }
  if (!path.startsWith('scripts/')) reader.report('entrypoint-at-root', null, `${path} stands beside SKILL.md`);
  return { path, language };
}

/** SB-03: the allowlist that every server starts with; an operator's own list is checked at publish and at run. */
function readImage(reader: FieldReader, language: Language): string {
  const image = reader.text('image');
  if (image === null) return DEFAULT_IMAGES[language === 'typescript' ? 'node' : language];
  const allowed: readonly string[] = Object.values(DEFAULT_IMAGES);
  if (!allowed.includes(image)) {
    reader.report('image-not-allowed', reader.get('image'), `the image "${image}" is none of ${allowed.join(', ')}`);
  }
  return image;
}

function readResources(reader: FieldReader): { cpus: number; memoryBytes: number } {
  const limits = { cpus: DEFAULT_CPUS, memoryBytes: DEFAULT_MEMORY_BYTES };
  const field = reader.get('resources');
  if (field === null || (field.node.kind === 'scalar' && field.node.value === null)) return limits;
  if (field.node.kind !== 'map' || field.repaired) {
    reader.report('power-field-doubtful', field, 'resources is not a mapping of cpu and memory; the defaults hold');
    return limits;
  }
  for (const { key, node } of field.node.entries) {
    if (key === 'cpu') {
      limits.cpus = reader.limitOf(node, 'resources.cpu', false, parseCpu, DEFAULT_CPUS, MAX_CPUS, String);
    } else if (key === 'memory') {
      limits.memoryBytes = reader.limitOf(
        node,
        'resources.memory',
        false,
        parseSize,
        DEFAULT_MEMORY_BYTES,
        MAX_MEMORY_BYTES,
        renderSize,
      );
    } else reader.reportAt('field-unknown', node, `resources.${key} is not a field of this format`);
  }
  return limits;
}
