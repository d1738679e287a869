import { createHash } from 'node:crypto';
import { renderSize, SkillboxError } from '../base/index.ts';
import { decodeText } from '../dialects/index.ts';
import type { FileEntry, Folder, Skill } from '../skill/index.ts';
import type { NotLookedInto } from './finding.ts';
import type { ScanLimits } from './limits.ts';
import type { ScannedFile, Subject } from './rule.ts';
import { extensionOf, languageOf, nameOf, spansOf } from './spans-of.ts';

const HEAD_BYTES = 8192;

export type Loaded = { subject: Subject; notLookedInto: NotLookedInto[]; bytes: number };

/** Reads what there is to look into, the dangerous part first: padding must not keep a script from being read. */
export function loadSubject(folder: Folder, skill: Skill | null, limits: ScanLimits, deadline: number): Loaded {
  const files: ScannedFile[] = [];
  const heads = new Map<string, Buffer>();
  const digests = new Map<string, string>();
  const notLookedInto: NotLookedInto[] = [];
  const skip = (file: string, reason: NotLookedInto['reason'], detail: string) => {
    notLookedInto.push({ file, reason, detail });
  };
  const commands = new Set(skill?.tools.map(tool => tool.template.trim()) ?? []);
  let bytes = 0;
  for (const entry of [...folder.files].sort((a, b) => rank(a) - rank(b))) {
    const { path, size } = entry;
    if (size > limits.maxFileBytes) {
      skip(path, 'too-large', `${renderSize(size)}; files over ${renderSize(limits.maxFileBytes)} are not read`);
      continue;
    }
    if (bytes + size > limits.maxTotalBytes || performance.now() > deadline) {
      skip(path, 'budget', 'the skill is larger than what one scan looks into');
      continue;
    }
    const content = readFile(folder, entry);
    if (typeof content === 'string') {
      skip(path, 'unreadable', content);
      continue;
    }
    bytes += size;
    digests.set(path, createHash('sha256').update(content).digest('hex'));
    if (isBinary(content)) {
      heads.set(path, Buffer.from(content.subarray(0, HEAD_BYTES)));
      skip(path, 'binary', 'not text; only its kind was looked at');
      continue;
    }
    const text = decodeText(content).text.replace(/\r\n?/g, '\n');
    const { kind, understood } = languageOf(entry, text);
    if (!understood) skip(path, 'language', 'a language that only the general rules know');
    files.push({ entry, kind, text, spans: spansOf(entry, kind, text, commands) });
  }
  for (const problem of folder.problems) skip(problem.file, 'left-out', problem.message);
  const digestOf = (path: string) => digests.get(path) ?? `${folder.file(path)?.size ?? 'none'}`;
  return { subject: { folder, skill, files, heads, unread: notLookedInto, digestOf }, notLookedInto, bytes };
}

function readFile(folder: Folder, entry: FileEntry): Buffer | string {
  try {
    return folder.read(entry.path, entry.size);
  } catch (error) {
    // A file that changes or cannot be opened is a hole in the coverage, not the end of the scan.
    if (error instanceof SkillboxError) return error.message;
    throw error;
  }
}

function rank({ path, executable }: FileEntry): number {
  if (/^skill\.(?:md|ya?ml|json)$/i.test(path)) return 0;
  const name = nameOf(path);
  if (path.startsWith('scripts/') || executable) return 1;
  if (/^(?:py|sh|bash|js|mjs|cjs|ts)$/.test(extensionOf(name))) return 2;
  return extensionOf(name) === 'md' || name === 'package.json' || name.startsWith('requirements') ? 3 : 4;
}

/** UTF-16 with its mark is text; otherwise a NUL, or many controls, is what no text has. */
function isBinary(content: Buffer): boolean {
  const [first, second] = content;
  if ((first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)) return false;
  const head = content.subarray(0, HEAD_BYTES);
  if (head.includes(0)) return true;
  let odd = 0;
  for (const byte of head) if (byte < 0x20 && byte !== 0x09 && byte !== 0x0a && byte !== 0x0d && byte !== 0x1b) odd++;
  return odd > head.length / 10 || (content.includes(0) && !isMostlyText(content));
}

function isMostlyText(content: Buffer): boolean {
  let odd = 0;
  for (const byte of content) if (byte < 0x09) odd++;
  return odd < content.length / 100;
}
