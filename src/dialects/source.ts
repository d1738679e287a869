import { type Findings, type Folder, IGNORE_FILE, type Place } from '../skill/index.ts';
import { type Fields, type Frontmatter, type FrontmatterProblem, readFields, readFrontmatter } from './frontmatter.ts';

/** A text file of the skill, decoded once; places are computed only when something is to be said about it. */
export type TextFile = { path: string; text: string; encoding: 'utf-8' | 'utf-8-bom' | 'utf-16' | 'broken' };

export type SkillDocument = TextFile & { frontmatter: Frontmatter; body: string };
export type Manifest = TextFile & { fields: Fields | null; problems: FrontmatterProblem[] };

/** `hint`: null where the one of the code says it. */
type DocumentProblem = { code: 'skill-md-missing' | 'skill-md-too-large'; message: string; hint: string | null };

/** What every dialect looks at: the folder, its SKILL.md and, where there is one, its seksbot manifest. */
export type Source = {
  folder: Folder;
  document: SkillDocument | null;
  /** Why there is no document. */
  documentProblem: DocumentProblem | null;
  manifest: Manifest | null;
};

const MAX_DOCUMENT_BYTES = 1024 * 1024;
const MAX_MANIFEST_BYTES = 64 * 1024;
export const MANIFEST_NAMES = ['skill.yaml', 'skill.yml', 'skill.json'] as const;

export function loadSource(folder: Folder): Source {
  const path = findDocument(folder);
  if (path === null) return without(folder, missing(folder));
  const size = folder.file(path)?.size ?? 0;
  if (size > MAX_DOCUMENT_BYTES) {
    const message = `${path} has ${size} bytes; at most ${MAX_DOCUMENT_BYTES} are read`;
    return without(folder, { code: 'skill-md-too-large', message, hint: null });
  }
  const document = parseDocument(readText(folder, path));
  return { folder, document, documentProblem: null, manifest: loadManifest(folder) };
}

function without(folder: Folder, documentProblem: DocumentProblem): Source {
  return { folder, document: null, documentProblem, manifest: loadManifest(folder) };
}

/** Where one lies in the folder and was not taken, its author must not be told to create it. */
function missing(folder: Folder): DocumentProblem {
  const code = 'skill-md-missing';
  const cause =
    folder.problems.find(({ file }) => file.toLowerCase() === 'skill.md') ??
    folder.problems.find(problem => problem.code === 'folder-too-large');
  if (cause !== undefined) return { code, message: `no SKILL.md was read: ${cause.message}`, hint: cause.hint };
  const hint = folder.file(IGNORE_FILE) === null ? null : `Create SKILL.md, or do not name it in ${IGNORE_FILE}.`;
  return { code, message: 'there is no SKILL.md in the folder', hint };
}

export function parseDocument(file: TextFile): SkillDocument {
  const frontmatter = readFrontmatter(file.text);
  return { ...file, frontmatter, body: file.text.slice(frontmatter.bodyAt) };
}

/** SKILL.md, or the one file that is called so in another case. */
export function findDocument(folder: Folder): string | null {
  if (folder.file('SKILL.md') !== null) return 'SKILL.md';
  return folder.files.find(file => file.path.length === 8 && file.path.toLowerCase() === 'skill.md')?.path ?? null;
}

export function readText(folder: Folder, path: string, maxBytes = MAX_DOCUMENT_BYTES): TextFile {
  return { path, ...decode(folder.read(path, maxBytes)) };
}

export function decode(bytes: Buffer): Omit<TextFile, 'path'> {
  if (bytes[0] === 0xff && bytes[1] === 0xfe)
    return { text: bytes.subarray(2).toString('utf16le'), encoding: 'utf-16' };
  if (bytes[0] === 0xfe && bytes[1] === 0xff) {
    const whole = Buffer.from(bytes.subarray(2, bytes.length - (bytes.length % 2)));
    return { text: whole.swap16().toString('utf16le'), encoding: 'utf-16' };
  }
  const text = bytes.toString('utf8');
  if (text.charCodeAt(0) === 0xfeff) return { text: text.slice(1), encoding: 'utf-8-bom' };
  // The replacement character may stand in the file itself; only then is the slower check needed.
  if (text.includes('\ufffd') && !isUtf8(bytes)) return { text, encoding: 'broken' };
  return { text, encoding: 'utf-8' };
}

function isUtf8(bytes: Buffer): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false; // the decoder's way of saying no
  }
}

function loadManifest(folder: Folder): Manifest | null {
  const path = MANIFEST_NAMES.find(name => folder.file(name) !== null);
  if (path === undefined) return null;
  const problems: FrontmatterProblem[] = [];
  const size = folder.file(path)?.size ?? 0;
  if (size > MAX_MANIFEST_BYTES) {
    const message = `${path} has ${size} bytes; at most ${MAX_MANIFEST_BYTES} are read`;
    problems.push({ code: 'frontmatter-too-large', at: 0, message, fix: null });
    return { path, text: '', encoding: 'utf-8', fields: null, problems };
  }
  const file = readText(folder, path);
  if (path.endsWith('.json') && !isJson(file.text)) {
    problems.push({ code: 'manifest-json', at: 0, message: `${path} is not JSON`, fix: null });
    return { ...file, fields: null, problems };
  }
  return { ...file, fields: readFields(file.text, 0, path.endsWith('.json') ? 'json' : 'yaml', problems), problems };
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false; // the parser's way of saying no; the caller reports it
  }
}

/** Line and column of an offset, both from 1. A lone carriage return ends a line as well, as in Markdown and in YAML. */
export function placeOf(file: { path: string; text: string }, at: number): Place {
  const before = file.text.slice(0, at);
  let line = 1;
  let start = before.lastIndexOf('\n') + 1;
  for (let index = before.indexOf('\n'); index !== -1; index = before.indexOf('\n', index + 1)) line++;
  for (let index = before.indexOf('\r'); index !== -1; index = before.indexOf('\r', index + 1)) {
    if (file.text[index + 1] === '\n') continue;
    line++;
    start = Math.max(start, index + 1);
  }
  return { file: file.path, line, column: at - start + 1 };
}

/** Says what is odd about the file itself, and every problem of its frontmatter. */
export function reportDocument(document: SkillDocument, findings: Findings): void {
  reportEncoding(document, findings);
  reportProblems(document, document.frontmatter.problems, findings);
}

export function reportEncoding(file: TextFile, findings: Findings): void {
  const start = { file: file.path, line: 1, column: 1 };
  if (file.path !== 'SKILL.md' && file.path.toLowerCase() === 'skill.md') {
    findings.report('skill-md-case', start, `the file is called ${file.path}`);
  }
  if (file.encoding === 'utf-8-bom')
    findings.report('skill-md-bom', start, `${file.path} starts with a byte order mark`);
  if (file.encoding === 'utf-16') findings.report('skill-md-encoding', start, `${file.path} is encoded as UTF-16`);
  if (file.encoding === 'broken')
    findings.report('skill-md-encoding', start, `${file.path} holds bytes that are not UTF-8`);
}

export function reportProblems(file: TextFile, problems: readonly FrontmatterProblem[], findings: Findings): void {
  for (const problem of problems) {
    // Edits are offsets into the decoded text; they hold for the file only where nothing was skipped before it.
    const fix = problem.fix !== null && file.encoding === 'utf-8' ? { fix: problem.fix } : {};
    findings.report(problem.code, placeOf(file, problem.at), problem.message, fix);
  }
}

/** A path inside the skill, or null when it leaves it or is none at all. */
export function innerPath(path: string): string | null {
  if (path === '' || path.startsWith('/') || path.includes('\\') || path.includes('\0')) return null;
  const segments: string[] = [];
  for (const segment of path.split('/')) {
    if (segment === '' || segment === '.') continue;
    if (segment !== '..') segments.push(segment);
    else if (segments.pop() === undefined) return null;
  }
  return segments.length === 0 ? null : segments.join('/');
}
