import { SkillboxError } from '../base/index.ts';

/** One line of requirements.txt, taken apart and written again in one spelling. */
export type Requirement = { name: string; text: string; hashes: string[] };

const MAX_REQUIREMENTS = 1000;
const NAME = /^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?/;
const EXTRAS = /^\[\s*[A-Za-z0-9._-]+(?:\s*,\s*[A-Za-z0-9._-]+)*\s*\]/;
const SPECIFIER = /^(?:===|==|~=|!=|<=|>=|<|>)\s*[A-Za-z0-9][A-Za-z0-9.*+!_-]*$/;
/** Environment markers compare names and quoted words; nothing else is needed to write one. */
const MARKER = /^[A-Za-z0-9_.\s()'"<>=!~,*+-]+$/;
const HASH = /^--hash[=\s]\s*(sha256|sha384|sha512):([0-9a-f]{64,128})$/;

/**
 * SB-07: names, versions, markers and hashes, and nothing that could lead pip elsewhere. What pip gets is written anew
 * from this, so that no two parsers see different things.
 */
export function parseRequirements(text: string): Requirement[] {
  const found: Requirement[] = [];
  for (const { line, number } of logicalLines(text)) {
    const requirement = parseLine(line, number);
    if (requirement !== null) found.push(requirement);
    if (found.length > MAX_REQUIREMENTS) throw refuse(number, line, `more than ${MAX_REQUIREMENTS} requirements`);
  }
  return found;
}

/** As pip reads them: a backslash at the end joins the next line, and a comment starts at a # after a space. */
function logicalLines(text: string): { line: string; number: number }[] {
  const lines: { line: string; number: number }[] = [];
  let joined: { line: string; number: number } | null = null;
  for (const [index, raw] of text
    .replace(/^\uFEFF/, '')
    .split(/\r\n|\r|\n/)
    .entries()) {
    const isComment = /^\s*#/.test(raw);
    const open: { line: string; number: number } = joined ?? { line: '', number: index + 1 };
    const continues = !isComment && raw.endsWith('\\');
    open.line += isComment ? ' ' : continues ? raw.slice(0, -1) : raw;
    joined = continues ? open : null;
    if (!continues) lines.push(open);
  }
  if (joined !== null) lines.push(joined);
  return lines.map(({ line, number }) => ({ line: line.replace(/(^|\s)#.*$/, '').trim(), number }));
}

function parseLine(line: string, number: number): Requirement | null {
  if (line === '') return null;
  const bad = (why: string) => refuse(number, line, why);
  if (/[^\x20-\x7e\t]/.test(line)) throw bad('characters outside ASCII');
  if (line.includes('$')) throw bad('a variable, which pip would replace');
  if (line.startsWith('-')) throw bad('an option');
  const parts = line.split(/\s+(?=--?[A-Za-z])/);
  const [stated = '', ...options] = parts;
  const hashes = options.map(option => {
    const match = HASH.exec(option.trim());
    if (match === null) throw bad('an option');
    return `${match[1]}:${match[2]}`;
  });
  if (/^[A-Za-z][A-Za-z0-9+.-]*:/.test(stated)) throw bad('a URL');
  if (/^[./~\\]|[\\/]/.test(stated.split(';')[0] ?? '')) throw bad('a path');
  if ((stated.split(';')[0] ?? '').includes('@')) throw bad('a URL');
  return { ...parseStated(stated, bad), hashes };
}

function parseStated(stated: string, bad: (why: string) => SkillboxError): { name: string; text: string } {
  const at = stated.indexOf(';');
  const marker = at < 0 ? null : stated.slice(at + 1).trim();
  let rest = (at < 0 ? stated : stated.slice(0, at)).trim();
  const name = NAME.exec(rest)?.[0];
  if (name === undefined) throw bad('no package name');
  rest = rest.slice(name.length).trim();
  const extras = EXTRAS.exec(rest)?.[0] ?? '';
  rest = rest.slice(extras.length).trim();
  if (rest.startsWith('(') && rest.endsWith(')')) rest = rest.slice(1, -1).trim();
  const specifiers = rest === '' ? [] : rest.split(',').map(specifier => specifier.trim());
  if (!specifiers.every(specifier => SPECIFIER.test(specifier))) throw bad('no version that can be read');
  if (marker !== null && !MARKER.test(marker)) throw bad('a marker that cannot be read');
  const text = `${name}${extras.replace(/\s+/g, '')}${specifiers.map(one => one.replace(/\s+/g, '')).join(',')}`;
  return { name, text: marker === null ? text : `${text} ; ${marker.replace(/\s+/g, ' ')}` };
}

/** What pip reads: one requirement a line, sorted, hashes behind it. */
export function renderRequirements(requirements: readonly Requirement[]): string {
  const lines = requirements.map(({ text, hashes }) => [text, ...hashes.map(hash => `--hash=${hash}`)].join(' '));
  return `${[...new Set(lines)].sort().join('\n')}\n`;
}

function refuse(number: number, line: string, why: string): SkillboxError {
  return new SkillboxError('DEPENDENCIES_REFUSED', `requirements.txt:${number} holds ${why}: ${line.slice(0, 200)}`, {
    hint: 'Write `name==1.2.3`, with extras, markers and --hash where needed; the index is set by the operator.',
    details: { file: 'requirements.txt', line: number },
  });
}
