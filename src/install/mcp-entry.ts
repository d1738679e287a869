import { createHash } from 'node:crypto';
import { renderSize, SkillboxError, visibleLine } from '../base/index.ts';
import { checkName } from '../dialects/index.ts';
import { checkPath, comparePaths } from '../skill/index.ts';
import { checkSkillUri } from './mcp-server.ts';

/** A file of a skill as its server lists it. `path` is where it lies in the skill's folder. */
export type McpFile = { path: string; uri: string; sha256: string; size: number };

/** What a server says of one skill: held from the moment of choice, and everything that is read is held against it. */
export type McpEntry = {
  uri: string;
  name: string;
  description: string;
  version: string | null;
  files: readonly McpFile[];
  /** SHA-256 over the address, digest and size of every file: what an approval is bound to. */
  set: string;
};

/** As the extension gives it, already checked against its schema. */
export type ServedSkill = {
  uri: string;
  frontmatter: { name: string; description: string; [key: string]: unknown };
  resources: 'dynamic' | readonly { uri: string; digest: string; size: number }[];
};

/** SEP-2640: up to so much every host takes. We take no more. */
export const ENTRY_LIMITS = { files: 512, bytes: 16 * 1024 ** 2 } as const;
const SKILL_FILE = 'SKILL.md';

/** Throws what a person should hear; nothing of the skill has been read by then. */
export function readEntry({ uri, frontmatter, resources }: ServedSkill): McpEntry {
  const name = visibleLine(frontmatter.name, 80);
  checkName(frontmatter.name);
  checkSkillUri(uri);
  if (resources === 'dynamic') {
    throw refused(`${name} is made anew at each reading: there are no bytes that a lock could hold`);
  }
  if (resources.length > ENTRY_LIMITS.files) {
    throw refused(`${name} has ${resources.length} files; ${ENTRY_LIMITS.files} are the limit`);
  }
  const bytes = resources.reduce((sum, { size }) => sum + size, 0);
  if (bytes > ENTRY_LIMITS.bytes) {
    throw refused(`${name} has ${renderSize(bytes)}; ${renderSize(ENTRY_LIMITS.bytes)} are the limit`);
  }
  const root = uri.slice(0, -SKILL_FILE.length);
  const files = resources.map(({ uri: at, digest, size }) => {
    return { path: pathOf(root, at, name), uri: at, sha256: digest.replace(/^sha256:/, ''), size };
  });
  checkPaths(files, name);
  const { description } = frontmatter;
  return { uri, name: frontmatter.name, description, version: versionOf(frontmatter), files, set: setOf(uri, files) };
}

/** Threat: the address becomes a path on this disk. Each part is decoded once, and judged as it would be written. */
function pathOf(root: string, uri: string, name: string): string {
  const outside = refused(`${name} lists ${visibleLine(uri, 120)}, which is no file of it`);
  if (!uri.startsWith(root)) throw outside;
  const parts = uri.slice(root.length).split('/').map(decodePart);
  if (parts.some(part => part === null || part.includes('/') || part.includes('\\'))) throw outside;
  const path = parts.join('/');
  const unsafe = checkPath(path);
  if (unsafe !== null) throw refused(`${name} has a file "${visibleLine(path, 120)}", which ${unsafe}`);
  return path;
}

function decodePart(part: string): string | null {
  try {
    return decodeURIComponent(part);
  } catch {
    return null; // no valid encoding
  }
}

/** Every path once, none of them the folder of another, and SKILL.md among them. */
function checkPaths(files: readonly McpFile[], name: string): void {
  const paths = new Set(files.map(({ path }) => path));
  if (paths.size !== files.length) throw refused(`${name} lists a file twice`);
  if (!paths.has(SKILL_FILE)) throw refused(`${name} lists no ${SKILL_FILE}`);
  for (const { path } of files) {
    for (let at = path.lastIndexOf('/'); at !== -1; at = path.lastIndexOf('/', at - 1)) {
      if (paths.has(path.slice(0, at))) throw refused(`${name} lists ${visibleLine(path, 120)} below a file`);
    }
  }
}

function setOf(uri: string, files: readonly McpFile[]): string {
  const sorted = [...files].sort((a, b) => comparePaths(a.uri, b.uri));
  const text = JSON.stringify([uri, ...sorted.map(({ uri: at, sha256, size }) => [at, sha256, size])]);
  return createHash('sha256').update(text).digest('hex');
}

function versionOf({ version, metadata }: Record<string, unknown>): string | null {
  if (typeof version === 'string') return version;
  const inner = typeof metadata === 'object' && metadata !== null ? (metadata as { version?: unknown }).version : null;
  return typeof inner === 'string' ? inner : null;
}

function refused(message: string): SkillboxError {
  return new SkillboxError('SOURCE_REFUSED', message, { hint: 'Nothing was fetched or written.' });
}
