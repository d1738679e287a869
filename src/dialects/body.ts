import { estimateTokens } from '../base/index.ts';
import type { Findings, Folder } from '../skill/index.ts';
import { linksOf } from './markdown.ts';
import { innerPath, placeOf, readText, type SkillDocument } from './source.ts';

/** AS-08: a body too long for a context, links that lead nowhere, references that hang on other references. */

const MAX_LINES = 500;
const MAX_TOKENS = 5000;
const MAX_REFERENCE_BYTES = 256 * 1024;
const MAX_REFERENCES = 50;

export function checkBody(document: SkillDocument, folder: Folder, findings: Findings): void {
  const { body } = document;
  const at = document.frontmatter.bodyAt;
  if (body.trim() === '') {
    findings.report('body-empty', placeOf(document, at), 'SKILL.md has no instructions after its frontmatter');
    return;
  }
  const lines = countLines(body);
  const tokens = estimateTokens(body);
  if (lines > MAX_LINES || tokens > MAX_TOKENS) {
    findings.report('body-too-long', placeOf(document, at), `the body has ${lines} lines and about ${tokens} tokens`);
  }
  if (!body.includes('](') && !body.includes(']:')) return;
  checkLinks(document, folder, findings);
}

function checkLinks(document: SkillDocument, folder: Folder, findings: Findings): void {
  const bodyLine = placeOf(document, document.frontmatter.bodyAt).line;
  const { links, complete } = linksOf(document.body);
  if (!complete) {
    const place = { file: document.path, line: bodyLine, column: 1 };
    findings.report('body-unchecked', place, 'the body is too large for all of its links to be checked');
  }
  const linked = new Set<string>();
  for (const link of links) {
    const path = relativePath(link.target);
    if (path === null) continue;
    const place = { file: document.path, line: bodyLine + link.line - 1, column: link.column };
    const inner = innerPath(path);
    if (inner === null) findings.report('link-outside', place, `"${path}" leads out of the skill`);
    else if (exists(folder, inner)) linked.add(inner);
    else findings.report('link-broken', place, `"${path}" points at nothing in the skill`);
  }
  checkChains(document.path, linked, folder, findings);
}

/** What SKILL.md links to should not itself be the only way to a third file. */
function checkChains(document: string, linked: Set<string>, folder: Folder, findings: Findings): void {
  const references = [...linked].filter(path => path.endsWith('.md') && path !== document).slice(0, MAX_REFERENCES);
  for (const path of references) {
    const size = folder.file(path)?.size ?? MAX_REFERENCE_BYTES + 1;
    if (size > MAX_REFERENCE_BYTES) continue;
    const base = path.includes('/') ? path.slice(0, path.lastIndexOf('/') + 1) : '';
    for (const link of linksOf(readText(folder, path).text).links) {
      const target = relativePath(link.target);
      const inner = target === null ? null : (innerPath(base + target) ?? null);
      if (inner === null || inner === document || linked.has(inner) || folder.file(inner) === null) continue;
      if (!inner.endsWith('.md')) continue;
      const place = { file: path, line: link.line, column: link.column };
      findings.report('reference-chain', place, `${inner} is reached only through ${path}`);
      break;
    }
  }
}

/** The path of a link into the skill; null for URLs, anchors and templates. */
function relativePath(target: string): string | null {
  if (target === '' || /^(?:[a-z][a-z0-9+.-]*:|#|\/\/|<|\$|\{|~)/i.test(target) || /[{}<>$*]/.test(target)) return null;
  const path = target.replace(/[?#].*$/, '');
  if (path === '') return null;
  try {
    return decodeURIComponent(path);
  } catch {
    return path; // a stray percent sign is part of the name
  }
}

function exists(folder: Folder, path: string): boolean {
  if (folder.file(path) !== null) return true;
  const prefix = `${path}/`;
  return folder.files.some(file => file.path.startsWith(prefix));
}

function countLines(text: string): number {
  let lines = 1;
  for (let index = text.indexOf('\n'); index !== -1; index = text.indexOf('\n', index + 1)) lines++;
  return text.endsWith('\n') ? lines - 1 : lines;
}
