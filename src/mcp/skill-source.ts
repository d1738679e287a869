import { extname } from 'node:path';
import type { Resource } from '@modelcontextprotocol/server';
import {
  DIRECTORY_MIME_TYPE,
  SKILL_LIMITS,
  type Skill,
  SkillCatalogError,
  type SkillSource,
  SkillsExtension,
  skillEntry,
} from '@modelcontextprotocol/server/ext/skills';
import type { Desk, Offered } from '../agent/index.ts';
import { SkillboxError } from '../base/index.ts';
import { activationEvent, type KnownSkill } from '../catalog/index.ts';
import { digestFolder, type Folder, openFolder } from '../skill/index.ts';
import { childrenOf, parseUri, uriOf } from './skill-uri.ts';

const PAGE = 50;
const MAX_RESOURCES = 500;
const NAME = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;
const SKILL_FILE = 'SKILL.md';

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

/** SEP-2640: the skills that agents are offered, file by file, with the digest and size of each. */
export function serveSkills(desk: Desk): SkillsExtension {
  return new SkillsExtension({ source: createSource(desk), onWarning: () => undefined });
}

function createSource({ shelf, skillbox }: Desk): SkillSource {
  const served = async () => (await shelf.offered()).skills.filter(isServable);
  return {
    async list({ cursor }) {
      const all = await served();
      const { page, next } = pageOf(all, cursor);
      const skills: Skill[] = [];
      for (const skill of page) {
        const entry = await entryOf(skill);
        if (entry !== null) skills.push(entry);
      }
      return { skills, ...next };
    },
    async get(uri) {
      const at = parseUri(uri);
      const skill = at === null || at.path !== SKILL_FILE ? undefined : known(await shelf.offered(), at.skill);
      return skill === undefined ? undefined : ((await entryOf(skill)) ?? undefined);
    },
    async read(uri) {
      const at = parseUri(uri);
      const skill = at === null ? undefined : known(await shelf.offered(), at.skill);
      if (at === null || skill === undefined) return undefined;
      return withFolder(skill, async folder => {
        if (!isWithinLimits(folder) || folder.file(at.path) === null) return undefined;
        const bytes = folder.read(at.path, SKILL_LIMITS.bytes);
        // AS-14: giving the instructions is an activation, by whatever way.
        if (at.path === SKILL_FILE) {
          await skillbox.note(activationEvent(skill, await digestFolder(folder), 'mcp:skills'));
        }
        return contentOf(at.path, bytes);
      });
    },
    async readDirectory(uri, { cursor }) {
      const at = parseUri(uri);
      if (at === null) return undefined;
      if (at.skill === '') {
        const { page, next } = pageOf(await served(), cursor);
        return { resources: page.map(({ name }) => directory(uriOf(name, ''), name)), ...next };
      }
      const skill = known(await shelf.offered(), at.skill);
      if (skill === undefined) return undefined;
      const children = await withFolder(skill, async folder => {
        return isWithinLimits(folder)
          ? childrenOf(
              folder.files.map(file => file.path),
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
    async listResources() {
      const all = (await served()).slice(0, MAX_RESOURCES);
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
function isServable({ name, location }: KnownSkill): boolean {
  return name.length <= 64 && NAME.test(name) && location.endsWith(`/${SKILL_FILE}`);
}

function known({ byName }: Offered, name: string): KnownSkill | undefined {
  const skill = byName.get(name);
  return skill !== undefined && isServable(skill) ? skill : undefined;
}

function isWithinLimits({ files }: Folder): boolean {
  const bytes = files.reduce((sum, { size }) => sum + size, 0);
  return files.length <= SKILL_LIMITS.files && bytes <= SKILL_LIMITS.bytes;
}

/** Null when the extension cannot carry it, or it is gone by now. */
async function entryOf(skill: KnownSkill): Promise<Skill | null> {
  try {
    return await withFolder(skill, async folder => {
      if (!isWithinLimits(folder)) return null;
      const files: Record<string, Uint8Array> = Object.create(null);
      for (const { path, size } of folder.files) files[path] = folder.read(path, size);
      return skillEntry(skill.name, files);
    });
  } catch (error) {
    if (error instanceof SkillboxError || error instanceof SkillCatalogError) return null;
    throw error;
  }
}

async function withFolder<T>({ realFolder }: KnownSkill, body: (folder: Folder) => Promise<T>): Promise<T> {
  const folder = await openFolder(realFolder);
  try {
    return await body(folder);
  } finally {
    folder.close();
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
