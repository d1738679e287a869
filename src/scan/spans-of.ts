import type { FileEntry } from '../skill/index.ts';
import { WINDOW_CHARS, WINDOW_OVERLAP } from './limits.ts';
import { codeSpans, markdownSpans } from './markdown-spans.ts';
import type { FileKind } from './rule.ts';
import { piecesOf, type Span, SpanBuilder } from './span.ts';

const DOCUMENTS = new Set(['md', 'mdx', 'markdown', 'txt', 'rst', 'adoc', 'html', 'htm']);
/** Languages whose ways of doing harm the rules know. */
const KNOWN = new Set([
  'py',
  'pyw',
  'sh',
  'bash',
  'zsh',
  'fish',
  'ksh',
  'js',
  'mjs',
  'cjs',
  'ts',
  'mts',
  'cts',
  'jsx',
  'tsx',
]);
/** Languages that are looked at with the general rules only. */
const OTHER = new Set(
  'rb pl pm php ps1 psm1 bat cmd vbs lua r go rs java kt scala swift c h cc cpp cs fs m jl ex exs erl hs clj groovy awk tcl applescript scpt nim zig dart sql'.split(
    ' ',
  ),
);
const BY_NAME: Readonly<Record<string, FileKind>> = {
  makefile: 'script',
  gnumakefile: 'script',
  dockerfile: 'script',
  containerfile: 'script',
  justfile: 'script',
  rakefile: 'script',
  'setup.py': 'script',
  'requirements.txt': 'manifest',
  'package.json': 'manifest',
  pipfile: 'manifest',
  'pyproject.toml': 'manifest',
};

export type Language = { kind: FileKind; understood: boolean };

/** By name, then by extension, then by the first line: a program needs no extension. */
export function languageOf(entry: FileEntry, text: string): Language {
  const name = nameOf(entry.path);
  const known = BY_NAME[name] ?? (/^requirements[\w.-]{0,40}\.txt$/.test(name) ? 'manifest' : undefined);
  if (known !== undefined) return { kind: known, understood: true };
  const extension = extensionOf(name);
  if (DOCUMENTS.has(extension) && !text.startsWith('#!')) return { kind: 'document', understood: true };
  if (KNOWN.has(extension)) return { kind: 'script', understood: true };
  if (OTHER.has(extension)) return { kind: 'script', understood: false };
  if (text.startsWith('#!')) {
    const first = text.slice(0, 200).split('\n', 1)[0] ?? '';
    return { kind: 'script', understood: /\b(?:ba|z|da|k)?sh\b|python|node|deno|bun/.test(first) };
  }
  // Without a name that says otherwise, what may be started is a program.
  if (entry.executable) return { kind: 'script', understood: false };
  return { kind: 'data', understood: true };
}

/** Every rule sees every part of a text: what is long comes in pieces. */
export function spansOf(entry: FileEntry, kind: FileKind, text: string, commands: ReadonlySet<string>): Span[] {
  return cut(entry, kind, text, commands).flatMap(span => piecesOf(span, WINDOW_CHARS, WINDOW_OVERLAP));
}

function cut(entry: FileEntry, kind: FileKind, text: string, commands: ReadonlySet<string>): Span[] {
  if (kind === 'document') return markdownSpans(text, commands);
  const lines = text.split('\n');
  if (kind === 'script') return scriptSpans(lines, extensionOf(nameOf(entry.path)));
  const builder = new SpanBuilder(WINDOW_CHARS);
  lines.forEach((line, index) => {
    builder.add({ number: index + 1, text: line }, 'data', false, '\n');
    builder.end('data', false, '\n');
  });
  return builder.spans;
}

const HASH = /^[ \t]{0,200}#(?!!)/;
const SLASHES = /^[ \t]{0,200}\/\//;
const DASHES = /^[ \t]{0,200}--/;
/** What is a remark in one language runs in another: `//bin/sh` is a path, and a `;` may start a line of JavaScript. */
const REMARKS: Readonly<Record<string, RegExp>> = {
  ...Object.fromEntries(
    'js mjs cjs ts mts cts jsx tsx go rs java kt scala swift c h cc cpp cs fs dart zig'
      .split(' ')
      .map(name => [name, SLASHES]),
  ),
  ...Object.fromEntries('lua sql hs'.split(' ').map(name => [name, DASHES])),
  bat: /^[ \t]{0,200}(?:::|REM\b)/i,
  cmd: /^[ \t]{0,200}(?:::|REM\b)/i,
};
const DOCSTRING = /^[ \t]{0,80}[rRuU]?("""|''')/;

/** Python's docstrings are remarks: they stand where nothing uses them. */
function scriptSpans(lines: readonly string[], extension: string): Span[] {
  const remarks = REMARKS[extension] ?? HASH;
  if (!extension.startsWith('py')) return codeSpans(lines, 1, 'code', 'remark', false, remarks);
  const spans: Span[][] = [];
  let from = 0;
  let previous = ':';
  for (let at = 0; at < lines.length; at++) {
    const line = (lines[at] ?? '').slice(0, 400);
    const quote = DOCSTRING.exec(line)?.[1];
    if (quote !== undefined && previous.endsWith(':')) {
      spans.push(codeSpans(lines.slice(from, at), from + 1, 'code', 'remark', false));
      const end = endOfString(lines, at, quote, line.indexOf(quote) + 3);
      spans.push(codeSpans(lines.slice(at, end + 1), at + 1, 'remark', 'remark', false));
      from = end + 1;
      at = end;
      previous = 'x';
      continue;
    }
    const trimmed = line.trim();
    if (trimmed !== '' && !trimmed.startsWith('#')) previous = trimmed;
  }
  spans.push(codeSpans(lines.slice(from), from + 1, 'code', 'remark', false));
  return spans.flat();
}

/** The line on which the string ends; one that goes on behind it is code, so the string ends a line above. */
function endOfString(lines: readonly string[], at: number, quote: string, from: number): number {
  for (let end = at; end < lines.length; end++) {
    const line = lines[end] ?? '';
    const close = line.indexOf(quote, end === at ? from : 0);
    if (close === -1) continue;
    const rest = line.slice(close + 3).trim();
    return rest === '' || rest.startsWith('#') ? end : Math.max(at, end - 1);
  }
  return at; // it never ends: then it hides nothing
}

export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1).toLowerCase();
}

export function extensionOf(name: string): string {
  const dot = name.lastIndexOf('.');
  return dot <= 0 ? '' : name.slice(dot + 1);
}
