import { findHidden, renderCodePoint, visible } from '../base/index.ts';

/** What the common file systems hold in one name. */
export const MAX_SEGMENT_BYTES = 255;
/** Half of Windows' and a quarter of Linux' longest path: room for wherever the skill is unpacked. */
export const MAX_PATH_BYTES = 1024;
export const MAX_DEPTH = 16;

const PRINTABLE_ASCII = /^[\x20-\x7e]*$/;
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/;
// Beyond what `findHidden` knows: fillers and joiners that draw nothing, and variation selectors away from an emoji.
const INVISIBLE = /\u034f|[\u115f\u1160\u2800\u3164\uffa0]|[\u17b4\u17b5]|[\ufe00-\ufe0d]|[\u{e0100}-\u{e01ef}]/u;
const STRAY_SELECTOR = /(?<!\p{Emoji})[\ufe0e\ufe0f]/u;
// Windows cannot hold these; the colon would also name an alternate data stream (`SKILL.md:hidden`).
const WINDOWS_FORBIDDEN = /[<>:"|?*]/;
// With any extension, and whatever spaces stand before it, these open a device on Windows.
const WINDOWS_DEVICE =
  /^(?:con|prn|aux|nul|com[0-9\u00B9\u00B2\u00B3]|lpt[0-9\u00B9\u00B2\u00B3]|conin\$|conout\$|clock\$) *(?:\.|$)/i;

/** Why a relative path must not become a file, as a phrase that follows the quoted path; null when it may. */
export function checkPath(path: string, maxDepth = MAX_DEPTH): string | null {
  if (path === '') return 'is empty';
  // First, so that a name of a megabyte costs nothing.
  if (path.length > MAX_PATH_BYTES) return `is longer than ${MAX_PATH_BYTES} bytes`;
  const ascii = PRINTABLE_ASCII.test(path);
  const reason = (ascii ? null : checkCharacters(path)) ?? checkRoot(path);
  if (reason !== null) return reason;
  if (!ascii && Buffer.byteLength(path) > MAX_PATH_BYTES) return `is longer than ${MAX_PATH_BYTES} bytes`;
  const segments = path.split('/');
  if (segments.length > maxDepth) return `is deeper than ${maxDepth} levels`;
  for (const segment of segments) {
    const bad = checkSegment(segment, ascii);
    if (bad !== null) return bad;
  }
  return null;
}

function checkCharacters(path: string): string | null {
  // U+FFFD is what file systems' and archives' broken bytes were decoded to: two such names could be one file.
  if (!path.isWellFormed() || path.includes('\ufffd')) return 'is not valid UTF-8';
  if (path.includes('\0')) return 'holds a NUL, where C programs would see the end of the name';
  const control = CONTROL.exec(path);
  // A newline or an escape sequence forges lines in logs and moves a terminal's cursor.
  if (control !== null) return `holds the control character ${renderCodePoint(control[0].codePointAt(0) ?? 0)}`;
  // Bidi overrides show `exe.txt` for `txt.exe`; invisible characters make two names look like one.
  const hidden = findHidden(path)?.codePoint ?? (INVISIBLE.exec(path) ?? STRAY_SELECTOR.exec(path))?.[0].codePointAt(0);
  return hidden === undefined ? null : `holds the hidden character ${renderCodePoint(hidden)}`;
}

/** Everything that could make the path start somewhere else than in the skill. */
function checkRoot(path: string): string | null {
  if (path.startsWith('\\\\') || path.startsWith('//')) return 'is a UNC path';
  if (path.startsWith('/')) return 'is absolute';
  if (/^[A-Za-z]:/.test(path)) return 'starts with a drive letter';
  // A separator on Windows: `..\x` would climb there and be one harmless name here.
  if (path.includes('\\')) return 'holds a backslash';
  const forbidden = WINDOWS_FORBIDDEN.exec(path);
  return forbidden === null ? null : `holds ${forbidden[0]}, which Windows cannot store`;
}

function checkSegment(segment: string, ascii: boolean): string | null {
  if (segment === '') return 'has an empty segment';
  if (segment === '.' || segment === '..') return `has a ${segment} segment`;
  // Windows drops them, so `SKILL.md.` would overwrite `SKILL.md`.
  if (segment.endsWith('.') || segment.endsWith(' ')) return 'has a name that ends in a dot or a space';
  if (WINDOWS_DEVICE.test(segment)) return 'has a name that Windows reserves';
  const bytes = ascii ? segment.length : Buffer.byteLength(segment);
  return bytes > MAX_SEGMENT_BYTES ? `has a name longer than ${MAX_SEGMENT_BYTES} bytes` : null;
}

/** Paths that fold to the same text are the same file on some system: NFC, then full case folding (ß is ss, ſ is s). */
export function foldName(path: string): string {
  if (PRINTABLE_ASCII.test(path)) return path.toLowerCase();
  return path.normalize('NFC').toUpperCase().toLowerCase().normalize('NFC');
}

/** For messages and diagnostics: nothing hidden, and on one line. */
export function showPath(path: string): string {
  return visible(path).replace(/[\t\n]/g, found => `<${renderCodePoint(found.codePointAt(0) ?? 0)}>`);
}

/** Finds names that would meet on a file system that folds names: of files, and of every directory above them. */
export class NameIndex {
  readonly #claims = new Map<string, { path: string; directory: boolean }>();
  readonly #directories = new Set<string>();

  /** Null, or the earlier path that this one collides with; then it is not added. A directory may come again. */
  add(path: string, kind: 'file' | 'directory'): string | null {
    if (kind === 'directory' && this.#directories.has(path)) return null;
    const slash = path.lastIndexOf('/');
    if (slash > 0) {
      const above = this.add(path.slice(0, slash), 'directory');
      if (above !== null) return above;
    }
    const folded = foldName(path);
    const earlier = this.#claims.get(folded);
    if (earlier !== undefined) return earlier.path;
    this.#claims.set(folded, { path, directory: kind === 'directory' });
    if (kind === 'directory') this.#directories.add(path);
    return null;
  }
}
