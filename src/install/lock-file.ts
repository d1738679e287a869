import {
  isObject,
  isSemver,
  type JsonObject,
  type JsonValue,
  readGuarded,
  SkillboxError,
  visibleLine,
} from '../base/index.ts';
import { checkName } from '../dialects/index.ts';
import { checkPath, comparePaths } from '../skill/index.ts';
import { AGENT_IDS, type AgentId } from './agents.ts';
import { checkSkillUri, parseServer, showServer } from './mcp-server.ts';
import { checkFolder, checkGitUrl, checkRef } from './source.ts';
import { checkUrl } from './url.ts';

/** Where the bytes came from, exactly enough to get them again. */
export type LockedSource =
  | { kind: 'path'; path: string }
  | { kind: 'git'; url: string; ref: string | null; commit: string }
  | { kind: 'well-known'; url: string }
  /** `uri` is the skill's on that server; `set` what the server listed of it when it was approved (`mcp-entry.ts`). */
  | { kind: 'mcp'; server: string; uri: string; set: string }
  /** `server` null: the registry of the machine. `wanted`: what was asked for, for updates; `version` is what was installed. */
  | { kind: 'registry'; server: string | null; wanted: string | null; version: string };

export type LockedFile = { sha256: string; executable: boolean };

export type LockedSkill = {
  name: string;
  version: string | null;
  source: LockedSource;
  /** Of the skill within the source; empty for the source itself. */
  folder: string;
  digest: string;
  files: ReadonlyMap<string, LockedFile>;
  agents: AgentId[];
  method: 'link' | 'copy';
};

export type Lock = ReadonlyMap<string, LockedSkill>;

const VERSION = 1;
const MAX_BYTES = 32 * 1024 ** 2;
const DIGEST = /^sb1-sha256:[0-9a-f]{64}$/;
const SHA256 = /^[0-9a-f]{64}$/;
const COMMIT = /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/;

/** No file is an empty lock; a broken one is never taken for an empty one. */
export function readLock(path: string): Lock {
  const text = readListed(path);
  try {
    return text === null ? new Map() : parseLock(text);
  } catch (cause) {
    if (!(cause instanceof SkillboxError)) throw cause;
    throw new SkillboxError('LOCK_INVALID', `${path}: ${cause.message}`, { cause });
  }
}

/** A list of skills that comes with a project; null where there is none. Threat: a device or a FIFO in its place has no end. */
export function readListed(path: string): string | null {
  const found = readGuarded(path, { maxBytes: MAX_BYTES, mine: false, links: true });
  if (found === null || 'text' in found) return found?.text ?? null;
  throw new SkillboxError('UNREADABLE', `${path} cannot be used: ${found.fault}`, {
    hint: 'Put a plain file in its place, or remove it.',
  });
}

export function parseLock(text: string): Lock {
  const document = parseObject(text);
  if (document.version !== VERSION) throw wrong(`its version is ${JSON.stringify(document.version)}, not ${VERSION}`);
  const skills = document.skills;
  if (!isObject(skills)) throw wrong('"skills" is missing');
  const lock = new Map<string, LockedSkill>();
  for (const [name, entry] of Object.entries(skills)) {
    try {
      lock.set(name, parseSkill(name, entry));
    } catch (cause) {
      if (!(cause instanceof SkillboxError)) throw cause;
      throw wrong(`the entry "${visibleLine(name, 80)}": ${cause.message}`);
    }
  }
  return lock;
}

/** JSON of somebody else, with a bound. */
export function parseObject(text: string): JsonObject {
  if (text.length > MAX_BYTES) throw wrong('it is far too large');
  try {
    const value = JSON.parse(text.replace(/^\ufeff/, '')) as JsonValue;
    if (isObject(value)) return value;
  } catch (cause) {
    throw wrong(`it is not JSON (${cause instanceof Error ? visibleLine(cause.message, 120) : ''})`);
  }
  throw wrong('it is not an object');
}

function parseSkill(name: string, entry: JsonValue): LockedSkill {
  // Threat: a lock comes with a repository, and every name and path in it becomes a path on this disk.
  checkInstallName(name);
  if (!isObject(entry)) throw wrong('is not an object');
  const { version, source, folder, digest, files, agents, method } = entry;
  if (typeof digest !== 'string' || !DIGEST.test(digest)) throw wrong('"digest" is no digest');
  if (version !== null && typeof version !== 'string') throw wrong('"version" is neither text nor null');
  if (typeof folder !== 'string') throw wrong('"folder" is missing');
  if (method !== 'link' && method !== 'copy') throw wrong('"method" is neither link nor copy');
  if (!Array.isArray(agents)) throw wrong('"agents" is no list');
  return {
    name,
    version,
    source: parseLockedSource(source),
    folder: folder === '' ? '' : checkFolder(folder),
    digest,
    files: parseFiles(files),
    agents: AGENT_IDS.filter(id => agents.includes(id)),
    method,
  };
}

/** A name that can be a folder on every system: `con` is a device on one of them. */
export function checkInstallName(name: string): void {
  checkName(name);
  const unsafe = checkPath(name);
  if (unsafe !== null) throw new SkillboxError('USAGE', `the name "${name}" ${unsafe}`);
}

function parseLockedSource(source: JsonValue | undefined): LockedSource {
  if (!isObject(source)) throw wrong('"source" is missing');
  const { kind, path, url, ref, commit, server, uri, set, wanted, version } = source;
  if (kind === 'path' && typeof path === 'string' && path !== '') return { kind, path };
  if (kind === 'well-known' && typeof url === 'string') return { kind, url: checkUrl(url).href };
  if (kind === 'git' && typeof url === 'string' && typeof commit === 'string' && COMMIT.test(commit)) {
    return { kind, url: checkGitUrl(url), ref: typeof ref === 'string' ? checkRef(ref) : null, commit };
  }
  if (kind === 'mcp' && typeof server === 'string' && typeof uri === 'string' && typeof set === 'string') {
    if (!SHA256.test(set)) throw wrong('"set" is no digest');
    return { kind, server: showServer(parseServer(server)), uri: checkSkillUri(uri), set };
  }
  if (kind === 'registry' && typeof version === 'string' && isSemver(version)) {
    if (wanted !== null && (typeof wanted !== 'string' || wanted.length > 256)) throw wrong('"wanted" is no version');
    if (server !== null && typeof server !== 'string') throw wrong('"server" is neither an address nor null');
    return { kind, server: server === null ? null : checkUrl(server).href, wanted, version };
  }
  throw wrong('"source" is none that Skillbox knows');
}

function parseFiles(files: JsonValue | undefined): Map<string, LockedFile> {
  if (!isObject(files)) throw wrong('"files" is missing');
  const found = new Map<string, LockedFile>();
  for (const [path, file] of Object.entries(files)) {
    const unsafe = checkPath(path);
    if (unsafe !== null) throw wrong(`the file "${visibleLine(path, 80)}" ${unsafe}`);
    if (!isObject(file) || typeof file.sha256 !== 'string' || !SHA256.test(file.sha256)) {
      throw wrong(`the file "${visibleLine(path, 80)}" has no digest`);
    }
    found.set(path, { sha256: file.sha256, executable: file.executable === true });
  }
  return found;
}

function wrong(message: string): SkillboxError {
  return new SkillboxError('LOCK_INVALID', message);
}

/** Always in the same order, so that two people who install the same thing write the same file. */
export function renderLock(lock: Lock): string {
  const skills = [...lock.values()]
    .sort((a, b) => comparePaths(a.name, b.name))
    .map(skill => [skill.name, entryOf(skill)]);
  return `${JSON.stringify({ version: VERSION, skills: Object.fromEntries(skills) }, null, 2)}\n`;
}

function entryOf({ version, source, folder, digest, files, agents, method }: LockedSkill): object {
  const paths = [...files].sort(([a], [b]) => comparePaths(a, b));
  const listed = paths.map(([path, { sha256, executable }]) => [
    path,
    executable ? { sha256, executable } : { sha256 },
  ]);
  return { version, source, folder, digest, agents, method, files: Object.fromEntries(listed) };
}
