import { extname } from 'node:path';
import type { Resource, ServerContext } from '@modelcontextprotocol/server';
import {
  DIRECTORY_MIME_TYPE,
  SKILL_LIMITS,
  type Skill,
  SkillCatalogError,
  type SkillSource,
  SkillsExtension,
  skillEntry,
} from '@modelcontextprotocol/server/ext/skills';
import type { Library, Offered, OfferedSkill, OpenedSkill, Shelf } from '../agent/index.ts';
import { SkillboxError } from '../base/index.ts';
import type { McpCaller } from './caller.ts';
import { childrenOf, parseUri, uriOf } from './skill-uri.ts';

const PAGE = 50;
const MAX_RESOURCES = 500;
const NAME = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;
const SKILL_FILE = 'SKILL.md';
/** Where a published skill is: its files have no other place. */
const REGISTRY = 'registry:';
const MAX_ENTRIES = 256;

const TYPES: Readonly<Record<string, string>> = {
  '.md': 'text/markdown',
  '.json': 'application/json',
  '.html': 'text/html',
  '.css': 'text/css',
  '.csv': 'text/csv',
  '.xml': 'application/xml',
  '.js': 'text/javascript',
  '.png': 'image/png',
  '.jpg': 'image/jpeg',
  '.svg': 'image/svg+xml',
  '.pdf': 'application/pdf',
};

/** What a caller sees, and reads it with. */
type Reader = { shelf: Shelf; library: Library; hold: McpCaller['hold'] };
type ReaderOf = (ctx: ServerContext) => Reader;

/** SEP-2640: the skills that agents are offered, file by file, with the digest and size of each. */
export function serveSkills(readerOf: ReaderOf): SkillsExtension {
  return new SkillsExtension({ source: createSource(readerOf), onWarning: () => undefined });
}

function createSource(readerOf: ReaderOf): SkillSource {
  const entries = new Entries();
  const served = async ({ shelf }: Reader) => (await shelf.offered()).skills.filter(isServable);
  return {
    async list({ cursor }, ctx) {
      const reader = readerOf(ctx);
      const { page, next } = pageOf(await served(reader), cursor);
      const skills: Skill[] = [];
      for (const skill of page) {
        const entry = await entries.of(reader, skill);
        if (entry !== null) skills.push(entry);
      }
      return { skills, ...next };
    },
    async get(uri, ctx) {
      const reader = readerOf(ctx);
      const at = parseUri(uri);
      const skill = at === null || at.path !== SKILL_FILE ? undefined : known(await reader.shelf.offered(), at.skill);
      return skill === undefined ? undefined : ((await entries.of(reader, skill)) ?? undefined);
    },
    async read(uri, ctx) {
      const { shelf, library, hold } = readerOf(ctx);
      const at = parseUri(uri);
      const skill = at === null ? undefined : known(await shelf.offered(), at.skill);
      if (at === null || skill === undefined) return undefined;
      return withFiles(library, skill, async opened => {
        const entry = opened.files.find(({ path }) => path === at.path);
        if (!isWithinLimits(opened) || entry === undefined) return undefined;
        hold(entry.size);
        const bytes = await opened.read(at.path, SKILL_LIMITS.bytes);
        // AS-14: giving the instructions is an activation, by whatever way.
        if (at.path === SKILL_FILE) await library.tellActivated(skill.name, 'mcp:skills');
        return contentOf(at.path, bytes);
      });
    },
    async readDirectory(uri, { cursor }, ctx) {
      const reader = readerOf(ctx);
      const at = parseUri(uri);
      if (at === null) return undefined;
      if (at.skill === '') {
        const { page, next } = pageOf(await served(reader), cursor);
        return { resources: page.map(({ name }) => directory(uriOf(name, ''), name)), ...next };
      }
      const skill = known(await reader.shelf.offered(), at.skill);
      if (skill === undefined) return undefined;
      const children = await withFiles(reader.library, skill, async opened => {
        return isWithinLimits(opened)
          ? childrenOf(
              opened.files.map(file => file.path),
              at.path,
            )
          : null;
      });
      if (children === null) return undefined;
      const { page, next } = pageOf(children, cursor);
      const resources = page.map(({ name, path, isFolder }) => {
        return isFolder ? directory(uriOf(skill.name, path), name) : file(uriOf(skill.name, path), name);
      });
      return { resources, ...next };
    },
    async listResources(ctx) {
      const all = (await served(readerOf(ctx))).slice(0, MAX_RESOURCES);
      return all.map(({ name, description }) => ({
        uri: uriOf(name, SKILL_FILE),
        name,
        description,
        mimeType: 'text/markdown',
      }));
    },
  };
}

/** The others are found by `list_skills`: the extension knows only names of the agent-skills format, and SKILL.md. */
function isServable({ name, location }: OfferedSkill): boolean {
  return name.length <= 64 && NAME.test(name) && (location.endsWith(`/${SKILL_FILE}`) || location.startsWith(REGISTRY));
}

function known({ byName }: Offered, name: string): OfferedSkill | undefined {
  const skill = byName.get(name);
  return skill !== undefined && isServable(skill) ? skill : undefined;
}

function isWithinLimits({ files }: OpenedSkill): boolean {
  const bytes = files.reduce((sum, { size }) => sum + size, 0);
  return files.length <= SKILL_LIMITS.files && bytes <= SKILL_LIMITS.bytes;
}

/** Entries, kept for content that never changes: one is made of every byte of its skill. */
class Entries {
  readonly #kept = new Map<string, Skill | null>();

  /** Null when the extension cannot carry it, or it is gone by now. */
  async of({ library, hold }: Reader, skill: OfferedSkill): Promise<Skill | null> {
    try {
      return await withFiles(library, skill, async opened => {
        const key = opened.digest === null ? null : `${skill.name} ${opened.digest}`;
        const kept = key === null ? undefined : this.#kept.get(key);
        if (kept !== undefined) return kept;
        const entry = await entryOf(skill, opened, hold);
        if (key !== null) this.#keep(key, entry);
        return entry;
      });
    } catch (error) {
      if (error instanceof SkillboxError && error.code === 'BUSY') throw error;
      if (error instanceof SkillboxError || error instanceof SkillCatalogError) return null;
      throw error;
    }
  }

  #keep(key: string, entry: Skill | null): void {
    this.#kept.set(key, entry);
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > MAX_ENTRIES && oldest !== undefined) this.#kept.delete(oldest);
  }
}

async function entryOf({ name }: OfferedSkill, opened: OpenedSkill, hold: McpCaller['hold']): Promise<Skill | null> {
  if (!isWithinLimits(opened) || !opened.files.some(({ path }) => path === SKILL_FILE)) return null;
  const release = hold(opened.files.reduce((sum, { size }) => sum + size, 0));
  try {
    const files: Record<string, Uint8Array> = Object.create(null);
    for (const { path, size } of opened.files) files[path] = await opened.read(path, size);
    return skillEntry(name, files);
  } finally {
    release();
  }
}

async function withFiles<T>(
  library: Library,
  { name }: OfferedSkill,
  body: (opened: OpenedSkill) => Promise<T>,
): Promise<T> {
  const opened = await library.open(name);
  try {
    return await body(opened);
  } finally {
    opened.close();
  }
}

function contentOf(
  path: string,
  bytes: Buffer,
): { text: string; mimeType: string } | { bytes: Buffer; mimeType: string } {
  const mimeType = TYPES[extname(path).toLowerCase()];
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    return { text, mimeType: mimeType ?? 'text/plain' };
  } catch {
    return { bytes, mimeType: mimeType ?? 'application/octet-stream' }; // not text
  }
}

function directory(uri: string, name: string): Resource {
  return { uri, name, mimeType: DIRECTORY_MIME_TYPE };
}

function file(uri: string, name: string): Resource {
  return { uri, name, mimeType: TYPES[extname(name).toLowerCase()] ?? 'text/plain' };
}

function pageOf<T>(
  all: readonly T[],
  cursor: string | undefined,
): { page: readonly T[]; next: { nextCursor?: string } } {
  const from = cursor === undefined ? 0 : Number(cursor);
  if (!Number.isSafeInteger(from) || from < 0) return { page: [], next: {} };
  const to = from + PAGE;
  return { page: all.slice(from, to), next: to < all.length ? { nextCursor: String(to) } : {} };
}
