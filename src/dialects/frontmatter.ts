import type { DiagnosticCode, Edit } from '../skill/index.ts';
import { cutAtBody, type Fences, findFences, findSecondFences } from './fences.ts';
import { parseQuickYaml } from './quick-yaml.ts';
import { hasAnchor, repairYaml } from './repair.ts';
import { parseYaml, toJson, type YamlEntry, type YamlNode, type YamlProblem } from './yaml.ts';

/** A field of the frontmatter. `repaired`: its value had to be guessed at, so a rule about power must not trust it. */
export type Field = { key: string; keyAt: number; node: YamlNode; repaired: boolean };
export type Fields = ReadonlyMap<string, Field>;

export type FrontmatterProblem = { code: DiagnosticCode; at: number; message: string; fix: Edit | null };
export type Frontmatter = {
  /** null: refused or not there; the problems say why. */
  fields: Fields | null;
  bodyAt: number;
  problems: FrontmatterProblem[];
};

export const MAX_FRONTMATTER_BYTES = 64 * 1024;
const MAX_PROBLEMS = 100;

// these refuse the whole frontmatter; everything else is repaired or kept.
const FATAL = new Set<DiagnosticCode>(['yaml-alias', 'yaml-forbidden-key', 'yaml-too-deep', 'yaml-multiple-documents']);
// what a value with one of these means is in doubt.
const DOUBTFUL = new Set<DiagnosticCode>(['yaml-tag', 'yaml-duplicate-key']);
const CONTROL = {
  json: /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/g,
  // And what ends a line to older readers of YAML only: what is a comment here is a field there.
  yaml: /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f\u0085\u2028\u2029]/g,
};
// It ends a line to YAML and to every other reader of it; only the library that is used here takes it for a blank.
const LONE_RETURN = /\r(?!\n)/g;
type Format = keyof typeof CONTROL;

/**
 * a field as text: the source text of a scalar, trimmed, null when empty. `Use when: x` on a line of its own reads as
 * a mapping; where text belongs, the source of a mapping or list is meant, and `guessed` says so.
 */
export function textOf(field: Field, fileText: string): { text: string | null; guessed: boolean } {
  const { node } = field;
  if (node.kind !== 'scalar') {
    const lines = fileText
      .slice(node.at, node.end)
      .split('\n')
      .map(line => line.trim());
    return { text: lines.filter(line => line !== '').join(' ') || null, guessed: true };
  }
  if (node.plain && node.value === null) return { text: null, guessed: false };
  return { text: node.text.trim() || null, guessed: false };
}

/** Splits SKILL.md and reads its frontmatter. `text` has no BOM; offsets in the result are offsets into it. */
export function readFrontmatter(text: string): Frontmatter {
  const fences = findFences(text);
  if ('missing' in fences) {
    return { fields: null, bodyAt: 0, problems: [{ ...fences.missing, fix: null }] };
  }
  const first = readBetween(text, fences);
  if (first.fields === null || first.fields.has('name') || first.fields.has('description')) return first;
  const below = findSecondFences(text, fences);
  const second = below === null ? null : readBetween(text, below);
  return second?.fields?.has('description') ? second : first;
}

function readBetween(text: string, found: Fences): Frontmatter {
  const problems: FrontmatterProblem[] = [];
  const quick = parseQuickYaml(text.slice(found.start, found.end), found.start);
  const fences = quick === null ? trustedEnd(text, found) : found;
  for (const problem of fences.problems) problems.push({ ...problem, fix: null });
  const raw = text.slice(fences.start, fences.end);
  if (isTooLarge(raw)) {
    const message = `the frontmatter has ${Buffer.byteLength(raw)} bytes; at most ${MAX_FRONTMATTER_BYTES} are read`;
    problems.push({ code: 'frontmatter-too-large', at: fences.start, message, fix: null });
    return { fields: null, bodyAt: fences.bodyAt, problems };
  }
  const fields =
    quick === null ? readFields(raw, fences.start, 'yaml', problems) : toFields(quick, new Set(), problems);
  const guessed = fences.problems.some(problem => problem.code === 'frontmatter-unclosed');
  return guessed ? doubted({ fields, bodyAt: fences.bodyAt, problems }) : { fields, bodyAt: fences.bodyAt, problems };
}

/** Where the text up to the closing line is no YAML, that line may be a rule in the body. */
function trustedEnd(text: string, fences: Fences): Fences {
  const cut = cutAtBody(text, fences);
  if (cut === null) return fences;
  const raw = text.slice(fences.start, fences.end);
  return !isTooLarge(raw) && parseYaml(raw, 0).node?.kind === 'map' ? fences : cut;
}

function isTooLarge(raw: string): boolean {
  return raw.length > MAX_FRONTMATTER_BYTES || Buffer.byteLength(raw) > MAX_FRONTMATTER_BYTES;
}

/** The fields of YAML text. An edit is offered only when the text that it leaves reads the same. */
export function readFields(raw: string, base: number, format: Format, problems: FrontmatterProblem[]): Fields | null {
  const found: FrontmatterProblem[] = [];
  const fields = readOnce(raw, base, format, found);
  const edits = found.flatMap(problem => problem.fix ?? []);
  const safe = edits.length > 0 && fields !== null && readsTheSame(fields, applyEdits(raw, base, edits), format);
  for (const problem of found) problems.push(safe ? problem : { ...problem, fix: null });
  return fields;
}

function applyEdits(raw: string, base: number, edits: readonly Edit[]): string {
  let text = raw;
  for (const edit of edits.toSorted((a, b) => b.start - a.start)) {
    text = text.slice(0, edit.start - base) + edit.text + text.slice(edit.end - base);
  }
  return text;
}

function readsTheSame(fields: Fields, text: string, format: Format): boolean {
  const problems: FrontmatterProblem[] = [];
  const again = readOnce(text, 0, format, problems);
  if (again === null || again.size !== fields.size || problems.some(problem => problem.fix !== null)) return false;
  return [...fields].every(([key, field]) => {
    const other = again.get(key)?.node;
    return other !== undefined && renderValue(other) === renderValue(field.node);
  });
}

function renderValue(node: YamlNode): string {
  return JSON.stringify(node.kind === 'scalar' ? [node.value, node.text] : toJson(node));
}

/** By the quick path, the library, or repair, in that order. */
function readOnce(raw: string, base: number, format: Format, problems: FrontmatterProblem[]): Fields | null {
  const quick = parseQuickYaml(raw, base);
  if (quick !== null) return toFields(quick, new Set(), problems);
  const text = withoutControls(raw, base, format, problems);
  const fields = readText(text, base, problems);
  // An editor may show two lines as one, so whoever looked at them has not seen what is asked for.
  return fields === null || raw.search(LONE_RETURN) === -1 ? fields : doubtedFields(fields);
}

function readText(text: string, base: number, problems: FrontmatterProblem[]): Fields | null {
  const parsed = parseYaml(text, base);
  const invalid = parsed.problems.find(problem => problem.code === 'yaml-invalid');
  const fatal = parsed.problems.find(problem => FATAL.has(problem.code));
  // `*text` without an anchor anywhere is no alias: other readers fail on it, so it is repaired like any other fault.
  const stray = fatal?.code === 'yaml-alias' && !hasAnchor(text);
  if (parsed.node?.kind === 'map' && !stray) return accept(parsed.node.entries, new Set(), parsed.problems, problems);
  if (fatal !== undefined && !stray) return accept([], new Set(), parsed.problems, problems);
  if (invalid === undefined && !stray && (parsed.node === null || isNull(parsed.node))) return new Map();

  const repair = repairYaml(text, base);
  if (repair.entries.length === 0) {
    problems.push(
      invalid === undefined
        ? {
            code: 'frontmatter-not-mapping',
            at: base,
            message: 'the frontmatter is not a mapping of fields',
            fix: null,
          }
        : { code: 'yaml-invalid', at: invalid.at, message: invalid.message, fix: null },
    );
    return null;
  }
  return accept(repair.entries, repair.repaired, repair.problems, problems);
}

function accept(
  entries: YamlEntry[],
  repaired: Set<string>,
  found: readonly (YamlProblem & { fix?: Edit | null })[],
  problems: FrontmatterProblem[],
): Fields | null {
  for (const { code, at, message, fix } of found.slice(0, MAX_PROBLEMS))
    problems.push({ code, at, message, fix: fix ?? null });
  const fatal = found.find(problem => FATAL.has(problem.code));
  if (fatal !== undefined) {
    if (!problems.some(problem => problem.code === fatal.code)) problems.push({ ...fatal, fix: null });
    return null;
  }
  const doubtful = found
    .filter(problem => DOUBTFUL.has(problem.code))
    .map(problem => problem.at)
    .sort((a, b) => a - b);
  entries.forEach(({ key, keyAt, node }, index) => {
    // The lines below a key end where the next key begins.
    const end = Math.min(node.end, (entries[index + 1]?.keyAt ?? Infinity) - 1);
    if (anyWithin(doubtful, keyAt, end)) repaired.add(key);
  });
  return toFields(entries, repaired, problems);
}

/** Whether one of the sorted offsets lies in the range. */
function anyWithin(sorted: readonly number[], from: number, to: number): boolean {
  let low = 0;
  for (let high = sorted.length; low < high; ) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] ?? 0) < from) low = middle + 1;
    else high = middle;
  }
  return (sorted[low] ?? Infinity) <= to;
}

function toFields(
  entries: readonly YamlEntry[],
  repaired: ReadonlySet<string>,
  problems: FrontmatterProblem[],
): Fields {
  const fields = new Map<string, Field>();
  for (const { key, keyAt, node } of entries) fields.set(key, { key, keyAt, node, repaired: repaired.has(key) });
  for (const key of ['name', 'description']) if (!fields.has(key)) renameField(fields, key, problems);
  return fields;
}

/** `Description:` where `description:` is missing: no other field can be meant, and neither grants anything. */
function renameField(fields: Map<string, Field>, key: string, problems: FrontmatterProblem[]): void {
  for (const field of fields.values()) {
    if (field.key.length !== key.length || field.key.toLowerCase() !== key) continue;
    const message = `"${field.key}" is read as "${key}": the names of fields are lowercase`;
    problems.push({ code: 'yaml-field-invalid', at: field.keyAt, message, fix: null });
    fields.delete(field.key);
    fields.set(key, { ...field, key });
    return;
  }
}

/** Where its end had to be guessed, no field may ask for power, and no edit is safe. */
function doubted({ fields, bodyAt, problems }: Frontmatter): Frontmatter {
  return {
    fields: fields === null ? null : doubtedFields(fields),
    bodyAt,
    problems: problems.map(problem => ({ ...problem, fix: null })),
  };
}

function doubtedFields(fields: Fields): Fields {
  return new Map([...fields].map(([key, field]) => [key, { ...field, repaired: true }]));
}

/** The same text with the same offsets, and nothing in it that YAML does not know or that readers take for different things. */
function withoutControls(raw: string, base: number, format: Format, problems: FrontmatterProblem[]): string {
  let text = raw;
  for (const { kind, becomes, what } of [
    { kind: LONE_RETURN, becomes: '\n', what: 'the end of a line' },
    { kind: CONTROL[format], becomes: ' ', what: 'a space' },
  ]) {
    const at = raw.search(kind);
    if (at === -1) continue;
    const code = raw.charCodeAt(at).toString(16).toUpperCase().padStart(4, '0');
    const message = `U+${code} in the frontmatter is read as ${what}`;
    problems.push({ code: 'yaml-control-character', at: base + at, message, fix: null });
    text = text.replace(kind, becomes);
  }
  return text;
}

function isNull(node: YamlNode): boolean {
  return node.kind === 'scalar' && node.value === null;
}
