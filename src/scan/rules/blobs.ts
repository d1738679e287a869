import type { ScanSeverity } from '../finding.ts';

/** Finds base64, hex and escaped text that decodes to code. A handful of candidates per window, each bounded by it. */

export type Blob = { at: number; length: number; what: string; severity: ScanSeverity };

const MAX_CANDIDATES = 6;
const MIN_BASE64 = 32;
const MIN_HEX = 40;
const MIN_ESCAPES = 12;

/** What programs and commands have and prose does not. */
const CODE =
  /\/bin\/(?:ba|da|z)?sh\b|\b(?:curl|wget)\b.{0,80}(?:https?:|\|)|\beval\(|\bexec\(|\bos\.system\(|\bsubprocess\b|\bimport (?:os|socket|subprocess|requests|urllib|base64)\b|child_process|\brequire\(|\bpowershell\b|\bIEX\b|\bbash -[ic]\b|\bnc -|\/dev\/tcp\/|__import__|\bchmod \+x|\bfunction\s?\w{0,20}\(.{0,60}\{|\brm -rf\b|\bIgnore (?:all )?previous\b/i;

export function decodeBlobs(text: string): Blob[] {
  const found: Blob[] = [];
  for (const candidate of candidatesOf(text)) {
    const bytes = candidate.bytes();
    const blob = judge(bytes, 0);
    if (blob !== null) found.push({ at: candidate.at, length: candidate.length, ...blob });
  }
  return found;
}

type Candidate = { at: number; length: number; bytes: () => Buffer };

function candidatesOf(text: string): Candidate[] {
  const candidates: Candidate[] = [];
  scanRuns(text, isBase64, MIN_BASE64, (at, run) => {
    if (run.length >= MIN_HEX && isHexRun(run))
      candidates.push({ at, length: run.length, bytes: () => Buffer.from(run, 'hex') });
    else if (looksEncoded(run)) candidates.push({ at, length: run.length, bytes: () => Buffer.from(run, 'base64') });
    return candidates.length < MAX_CANDIDATES;
  });
  if (text.includes('\\x') || text.includes('\\u00')) {
    for (const match of text.matchAll(/(?:\\x[0-9a-f]{2}|\\u00[0-9a-f]{2}){12,500}/gi)) {
      if (candidates.length >= MAX_CANDIDATES || match[0].length < MIN_ESCAPES * 4) break;
      const run = match[0];
      const bytes = () => Buffer.from(run.replaceAll('\\u00', '').replaceAll('\\x', ''), 'hex');
      candidates.push({ at: match.index, length: run.length, bytes });
    }
  }
  return candidates;
}

/** Runs of characters of one kind, by one pass; `take` answers whether to go on. */
function scanRuns(
  text: string,
  belongs: (code: number) => boolean,
  min: number,
  take: (at: number, run: string) => boolean,
): void {
  let start = -1;
  for (let at = 0; at <= text.length; at++) {
    const inside = at < text.length && belongs(text.charCodeAt(at));
    if (inside && start === -1) start = at;
    if (inside || start === -1) continue;
    if (at - start >= min && !take(start, text.slice(start, at))) return;
    start = -1;
  }
}

function isBase64(code: number): boolean {
  return (
    (code >= 97 && code <= 122) ||
    (code >= 65 && code <= 90) ||
    (code >= 47 && code <= 57) ||
    code === 43 ||
    code === 45 ||
    code === 95
  );
}

function isHexRun(text: string): boolean {
  return text.length % 2 === 0 && /^[0-9a-f]{1,4000}$/i.test(text);
}

/** A path or a long name is a run, too; base64 of anything has both cases and no rhythm of slashes. */
function looksEncoded(run: string): boolean {
  return /[a-z]/.test(run) && /[A-Z]/.test(run) && run.split('/').length < run.length / 12;
}

function judge(bytes: Buffer, depth: number): { what: string; severity: ScanSeverity } | null {
  const program = programOf(bytes);
  if (program !== null) return { what: program, severity: 'medium' };
  if (!isText(bytes)) return null;
  const text = bytes.toString('latin1').slice(0, 4000);
  const match = CODE.exec(text);
  if (match !== null) return { what: `code: "${match[0].slice(0, 40).replace(/\s+/g, ' ')}"`, severity: 'high' };
  if (depth >= 2) return null;
  // Encoded more than once.
  const inner = candidatesOf(text)[0];
  return inner === undefined ? null : judge(inner.bytes(), depth + 1);
}

const MAGIC: readonly (readonly [string, string])[] = [
  ['\x7fELF', 'a program (ELF)'],
  ['MZ\x90', 'a program (Windows)'],
  ['\xcf\xfa\xed\xfe', 'a program (macOS)'],
  ['\xca\xfe\xba\xbe', 'a program (macOS or Java)'],
];

export function programOf(bytes: Buffer): string | null {
  const head = bytes.subarray(0, 4).toString('latin1');
  return MAGIC.find(([magic]) => head.startsWith(magic))?.[1] ?? null;
}

function isText(bytes: Buffer): boolean {
  if (bytes.length < 12) return false;
  for (const byte of bytes.subarray(0, 2000))
    if (byte > 126 || (byte < 32 && byte !== 9 && byte !== 10 && byte !== 13)) return false;
  return true;
}
