import type { FileEntry, Folder, Skill } from '../skill/index.ts';
import type { NotLookedInto, ScanSeverity } from './finding.ts';
import type { Place, Span } from './span.ts';

/** A hit inside a text; `severity` only where the detector knows better than the rule. */
export type Hit = { at: number; length: number; severity?: ScanSeverity; note?: string };
/** A hit at a line of a file, or on the file as a whole (line 1, no excerpt). */
export type PlacedHit = {
  file: string;
  line: number;
  column: number;
  excerpt: string;
  severity?: ScanSeverity;
  note?: string;
};

export type ScannedFile = { entry: FileEntry; kind: FileKind; text: string; spans: readonly Span[] };
/** manifest: a list of packages. */
export type FileKind = 'document' | 'script' | 'manifest' | 'data';

/** Everything a rule about the whole skill may look at. */
export type Subject = {
  folder: Folder;
  skill: Skill | null;
  files: readonly ScannedFile[];
  /** The first bytes of each file that is not text, or could not be read to its end. */
  heads: ReadonlyMap<string, Buffer>;
  unread: readonly NotLookedInto[];
  /** Names the content of a file, or its size where it was not read. */
  digestOf: (path: string) => string;
};

export type Detector =
  /** `needles`: lower case; where none of them is in the text, the pattern is not tried. Empty: it always is. */
  | { kind: 'pattern'; needles: readonly string[]; pattern: RegExp; unless?: RegExp }
  | { kind: 'span'; needles: readonly string[]; find: (span: Span) => Hit[] }
  | { kind: 'file'; needles: readonly string[]; find: (file: ScannedFile) => PlacedHit[] }
  | { kind: 'skill'; find: (subject: Subject) => PlacedHit[] };

/** How grave a hit is at each place; a place that is not named is not looked at. */
export type Where = Partial<Record<Place, ScanSeverity>>;

/** Files of a small skill. A text alone is the body of SKILL.md. */
export type Sample = string | Readonly<Record<string, string>>;

export const FAMILIES = {
  hidden: 'Hidden text',
  instructions: 'Instructions against the user',
  download: 'Download and execute',
  credentials: 'Credentials',
  obfuscation: 'Obfuscated code',
  control: 'Taking over the machine',
  needs: 'More than it says',
  dependencies: 'Dependencies',
  files: 'Files',
} as const;
export type Family = keyof typeof FAMILIES;

/** A rule is data; its samples are its tests. */
export type Rule = {
  id: string;
  family: Family;
  title: string;
  why: string;
  fix: string;
  where: Where;
  detector: Detector;
  /** Each must be found by this rule. */
  hits: readonly Sample[];
  /** Each must not be, or only at `info` or `low`. */
  misses: readonly Sample[];
};

/** A command: done by a script, advised by a fence, mentioned by a sentence. */
export const COMMAND: Where = {
  code: 'high',
  fence: 'medium',
  data: 'medium',
  hidden: 'high',
  header: 'high',
  prose: 'low',
  remark: 'low',
};
export const MILD_COMMAND: Where = { code: 'medium', fence: 'low', data: 'low', hidden: 'medium', header: 'medium' };
/** A sentence that a model reads, wherever it stands. */
export const SENTENCE: Where = {
  prose: 'high',
  hidden: 'high',
  header: 'high',
  fence: 'medium',
  remark: 'medium',
  code: 'medium',
  data: 'medium',
};

export function sh(text: string): Record<string, string> {
  return { 'scripts/run.sh': `#!/bin/sh\n${text}\n` };
}

export function py(text: string): Record<string, string> {
  return { 'scripts/run.py': `${text}\n` };
}

export function js(text: string): Record<string, string> {
  return { 'scripts/run.mjs': `${text}\n` };
}

export function fence(text: string): string {
  return `Do this:\n\n\`\`\`bash\n${text}\n\`\`\`\n`;
}
