import { emptyObject, findHidden, isSemver, type JsonObject, renderCodePoint, suggest } from '../base/index.ts';
import type { DiagnosticCode, Findings, Place, ToolPattern } from '../skill/index.ts';
import { type Field, type Fields, textOf } from './frontmatter.ts';
import { placeOf, type TextFile } from './source.ts';
import { toJson, type YamlNode } from './yaml.ts';

/** Fields that clients have added to SKILL.md: kept without a remark, whatever the dialect. */
export const CLIENT_EXTENSIONS: ReadonlySet<string> = new Set([
  'agent',
  'argument-hint',
  'arguments',
  'context',
  'disable-model-invocation',
  'effort',
  'homepage',
  'hooks',
  'model',
  'paths',
  'repository',
  'shell',
  'user-invocable',
  'when_to_use',
]);

const MAX_NAME = 64;
const KEBAB = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;
const UNICODE_KEBAB = /^[\p{L}\p{N}]+(?:-[\p{L}\p{N}]+)*$/u;

/** Reads fields with their rules. What it is not asked for ends up in `extra`. */
export class FieldReader {
  readonly #file: TextFile;
  readonly #fields: Fields;
  readonly #findings: Findings;
  readonly #asked = new Set<string>();

  constructor(file: TextFile, fields: Fields, findings: Findings) {
    this.#file = file;
    this.#fields = fields;
    this.#findings = findings;
  }

  get(key: string): Field | null {
    this.#asked.add(key);
    return this.#fields.get(key) ?? null;
  }

  place(field: Field | null): Place {
    return field === null ? { file: this.#file.path, line: 1, column: 1 } : placeOf(this.#file, field.node.at);
  }

  report(code: DiagnosticCode, field: Field | null, message: string): void {
    this.#findings.report(code, this.place(field), message);
  }

  reportAt(code: DiagnosticCode, node: YamlNode, message: string): void {
    this.#findings.report(code, placeOf(this.#file, node.at), message);
  }

  /** The field as text; null when absent or empty. */
  text(key: string): string | null {
    const field = this.get(key);
    if (field === null) return null;
    const { text, guessed } = textOf(field, this.#file.text);
    if (guessed) {
      // `Use when: x` reads as a mapping by accident, `{a: b}` does not.
      const accident = field.node.kind === 'map' && this.#file.text[field.node.at] !== '{';
      const code = accident ? 'yaml-unquoted-colon' : 'field-type';
      this.report(code, field, `"${key}" is a ${field.node.kind}, not text; its source is taken as the text`);
    }
    return text;
  }

  /** A plain boolean; `least` stands in for whatever is in doubt (X-11), `absent` for what is not there. */
  boolean(key: string, absent: boolean, least: boolean): boolean {
    const field = this.get(key);
    if (field === null || (field.node.kind === 'scalar' && field.node.value === null && !field.repaired)) return absent;
    if (field.node.kind === 'scalar' && typeof field.node.value === 'boolean' && !field.repaired)
      return field.node.value;
    const seen = field.node.kind === 'scalar' ? field.node.text : field.node.kind;
    const doubt = field.repaired ? 'cannot be read for sure' : `is ${JSON.stringify(seen)}, not true or false`;
    this.report('power-field-doubtful', field, `"${key}" ${doubt}; read as ${least}`);
    return least;
  }

  /** A list of strings, or a string cut at `separator`. */
  texts(key: string, separator: RegExp): string[] {
    const field = this.get(key);
    if (field === null) return [];
    if (field.node.kind === 'list') return field.node.items.map(scalarText).filter(text => text !== '');
    if (field.node.kind === 'scalar')
      return field.node.text
        .split(separator)
        .map(text => text.trim())
        .filter(text => text !== '');
    this.report('field-type', field, `"${key}" is a mapping; a list or text is expected`);
    return [];
  }

  /** X-09: a limit through the one parser; in doubt the default holds, over the maximum the maximum. */
  limit(
    key: string,
    parse: (text: string) => number | null,
    fallback: number,
    max: number,
    render: (n: number) => string,
  ): number {
    const field = this.get(key);
    return field === null ? fallback : this.limitOf(field.node, key, field.repaired, parse, fallback, max, render);
  }

  limitOf(
    node: YamlNode,
    label: string,
    repaired: boolean,
    parse: (text: string) => number | null,
    fallback: number,
    max: number,
    render: (n: number) => string,
  ): number {
    if (node.kind === 'scalar' && node.value === null && node.plain) return fallback;
    const value = node.kind === 'scalar' && !repaired ? parse(node.text) : null;
    if (value === null) {
      const seen = node.kind === 'scalar' ? JSON.stringify(node.text) : `a ${node.kind}`;
      const doubt = repaired ? 'cannot be read for sure' : `is ${seen}, which is no such value`;
      this.reportAt('power-field-doubtful', node, `"${label}" ${doubt}; ${render(fallback)} holds`);
      return fallback;
    }
    if (value > max) {
      this.reportAt('limit-clamped', node, `"${label}" is over the maximum; ${render(max)} holds`);
      return max;
    }
    return value;
  }

  /** X-07: every field that no rule asked for, kept as it was and named. */
  extra(code: DiagnosticCode = 'field-unknown'): JsonObject {
    const extra = emptyObject();
    for (const field of this.#fields.values()) {
      if (this.#asked.has(field.key)) continue;
      // X-03: where version is no field of the dialect it still keeps its source text; 1.10 is not 1.1.
      const isVersion = field.key === 'version' && field.node.kind === 'scalar';
      extra[field.key] = isVersion ? scalarText(field.node) : toJson(field.node);
      if (CLIENT_EXTENSIONS.has(field.key)) continue;
      const meant = suggest(field.key, this.#asked);
      const message = `"${field.key}" is not a field of this format${meant === null ? '' : `; did you mean "${meant}"?`}`;
      this.#findings.report(code, placeOf(this.#file, field.keyAt), message);
    }
    return extra;
  }
}

export function scalarText(node: YamlNode): string {
  return node.kind === 'scalar' ? node.text.trim() : JSON.stringify(toJson(node));
}

/** AS-02, GB-01, SK-02: the name, with the folder's name standing in where it is missing (X-06). */
export function readName(
  reader: FieldReader,
  folderName: string | null,
  options: { unicode: boolean; matchFolder: boolean },
): string | null {
  const field = reader.get('name');
  const written = reader.text('name');
  if (written === null) {
    const stand =
      folderName === null ? 'and the archive has no folder to name it' : `the folder's name "${folderName}" stands in`;
    reader.report('name-missing', field, `there is no name; ${stand}`);
    return folderName;
  }
  const name = options.unicode ? written.normalize('NFKC') : written;
  checkHidden(reader, field, 'name', name);
  const valid = options.unicode ? UNICODE_KEBAB.test(name) && name === name.toLowerCase() : KEBAB.test(name);
  if (!valid) {
    const allowed = 'lowercase letters, digits and single hyphens between them';
    reader.report('name-invalid', field, `the name ${JSON.stringify(name)} may hold only ${allowed}`);
  }
  if (codePoints(name, MAX_NAME))
    reader.report('name-too-long', field, `the name is longer than ${MAX_NAME} characters`);
  if (options.matchFolder && folderName !== null && name !== folderName.normalize('NFKC')) {
    reader.report('name-folder-mismatch', field, `the name is "${name}", the folder's is "${folderName}"`);
  }
  return name;
}

export function readDescription(reader: FieldReader, max: number, code: DiagnosticCode): string | null {
  const field = reader.get('description');
  const description = reader.text('description');
  if (description === null) {
    reader.report(
      'description-missing',
      field,
      field === null ? 'there is no description' : 'the description is empty',
    );
    return null;
  }
  checkHidden(reader, field, 'description', description);
  if (codePoints(description, max)) {
    reader.report(
      code,
      field,
      `the description has ${Array.from(description).length} characters; at most ${max} are allowed`,
    );
  }
  return description;
}

/** X-12: a semver version, kept as written. */
export function readVersion(reader: FieldReader, required: boolean): string | null {
  const field = reader.get('version');
  const version = reader.text('version');
  if (version === null) {
    if (required) reader.report('version-missing', field, 'there is no version');
    return null;
  }
  if (!isSemver(version)) {
    const message =
      version === 'latest'
        ? '"latest" names the newest version and cannot be one'
        : `the version ${JSON.stringify(version)} is not semver`;
    reader.report('version-not-semver', field, message);
  }
  return version;
}

export function checkHidden(reader: FieldReader, field: Field | null, label: string, text: string): void {
  const hidden = findHidden(text);
  if (hidden !== null) {
    reader.report(
      'hidden-text',
      field,
      `the ${label} holds ${renderCodePoint(hidden.codePoint)}, which a reader does not see`,
    );
  }
}

/** Whether the text has more than `max` characters, counted as people count them. */
function codePoints(text: string, max: number): boolean {
  return text.length > max && Array.from(text).length > max;
}

const TOOL_NAME = /^[A-Za-z_][\w.:/-]*\*?$/;
// A list needs no separator, so clients whose tools have spaces in their names can be written there.
const LISTED_TOOL_NAME = /^[A-Za-z_][\w.:/ -]*\*?$/;

/** AS-07: `Bash(git:*) Read` or a list of such; what cannot be read grants nothing. */
export function readAllowedTools(reader: FieldReader): ToolPattern[] {
  const field = reader.get('allowed-tools');
  if (field === null || (field.node.kind === 'scalar' && field.node.text.trim() === '')) return [];
  if (field.repaired || field.node.kind === 'map') {
    reader.report('power-field-doubtful', field, 'allowed-tools cannot be read for sure; it grants nothing');
    return [];
  }
  const { node } = field;
  const name = node.kind === 'list' ? LISTED_TOOL_NAME : TOOL_NAME;
  let entries: { text: string; at: YamlNode }[];
  if (node.kind === 'list') entries = node.items.map(item => ({ text: scalarText(item), at: item }));
  else {
    const split = splitTools(node.text);
    entries = split.entries.map(text => ({ text, at: node }));
    if (split.commas) reader.report('allowed-tools-commas', field, 'the tools are separated by commas');
  }
  return entries.flatMap(({ text, at }) => {
    const match = /^([^()]+)(?:\((.*)\))?$/s.exec(text.trim());
    const tool = match?.[1] ?? '';
    const pattern = match?.[2] ?? null;
    if (name.test(tool) && (pattern === null || isBalanced(pattern))) return [{ tool, pattern }];
    reader.reportAt('allowed-tools-invalid', at, `${JSON.stringify(text)} names no tool`);
    return [];
  });
}

/** `A(x) B(y)` is two tools, not a tool whose pattern is `x) B(y`. */
function isBalanced(pattern: string): boolean {
  let depth = 0;
  for (const character of pattern) {
    if (character === '(') depth++;
    if (character === ')' && --depth < 0) return false;
  }
  return depth === 0;
}

/** Cuts at spaces and commas that stand outside parentheses. */
function splitTools(text: string): { entries: string[]; commas: boolean } {
  const entries: string[] = [];
  let commas = false;
  let depth = 0;
  let current = '';
  for (const character of text) {
    if (character === '(') depth++;
    if (character === ')') depth = Math.max(0, depth - 1);
    const separates = depth === 0 && (character === ',' || /\s/.test(character));
    if (separates) {
      if (character === ',') commas = true;
      if (current !== '') entries.push(current);
      current = '';
    } else current += character;
  }
  if (current !== '') entries.push(current);
  return { entries, commas };
}
