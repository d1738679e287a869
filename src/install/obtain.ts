import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, relative } from 'node:path';
import { SkillboxError, visibleLine } from '../base/index.ts';
import { findSkills } from '../catalog/index.ts';
import { type Reading, readSkill } from '../dialects/index.ts';
import { type Folder, openFolder } from '../skill/index.ts';
import { FETCH_LIMITS, type FetchLimits } from './git.ts';
import { fetchTree } from './git-tree.ts';
import type { LockedSource } from './lock-file.ts';
import { type McpShelf, openMcpShelf } from './mcp-shelf.ts';
import { RegistryShelf } from './registry-shelf.ts';
import { isInside } from './scope.ts';
import { type Source, showSource } from './source.ts';
import { fetchListed, readIndex } from './well-known.ts';

/** A skill that a source has, opened: the bytes that would be installed. */
export type Loaded = { content: Folder; reading: Reading; source: LockedSource; folder: string };

/** A skill that a source has. `name` is null where it does not load; `place` tells two of one name apart. */
export type Offer = {
  name: string | null;
  description: string;
  folder: string;
  place: string;
  load(): Promise<Loaded>;
};

/** `close` ends every folder that was opened and removes what was fetched. */
export type Obtained = { offers: Offer[]; close(): Promise<void> };

/** Gets a source: `pin` is what a lock says, the commit of a repository. */
export async function obtain(
  source: Source,
  pin: string | null = null,
  limits: FetchLimits = FETCH_LIMITS,
): Promise<Obtained> {
  const work = mkdtempSync(join(tmpdir(), 'skillbox-add-'));
  const opened: Folder[] = [];
  let shelf: McpShelf | RegistryShelf | null = null;
  const close = async () => {
    for (const folder of opened) folder.close();
    await shelf?.close().catch(() => undefined); // the server is gone already; nothing is wanted of it any more
    rmSync(work, { recursive: true, force: true });
  };
  try {
    if (source.kind === 'registry') {
      const registry = new RegistryShelf(limits, opened);
      shelf = registry;
      return { offers: [await registry.get(source, pin)], close };
    }
    if (source.kind !== 'mcp') return { offers: await offersOf(source, pin, limits, work, opened), close };
    const mcp = await openMcpShelf(source.server, limits, work, opened);
    shelf = mcp;
    return { offers: await mcpOffers(mcp, source), close };
  } catch (cause) {
    await close();
    throw cause;
  }
}

async function mcpOffers(shelf: McpShelf, source: Extract<Source, { kind: 'mcp' }>): Promise<Offer[]> {
  if (source.uri === null) {
    const offers = await shelf.list();
    if (offers.length > 0) return offers;
    throw new SkillboxError('NOT_A_SKILL', `${visibleLine(showSource(source), 200)} lists no skills`, {
      hint: 'It may have some all the same: name one with #skill://NAME/SKILL.md.',
    });
  }
  const offer = await shelf.get(source.uri);
  if (offer !== null) return [offer];
  throw new SkillboxError('NOT_FOUND', `the MCP server has no ${visibleLine(source.uri, 200)}`);
}

async function offersOf(
  source: Exclude<Source, { kind: 'mcp' | 'registry' }>,
  commit: string | null,
  limits: FetchLimits,
  work: string,
  opened: Folder[],
): Promise<Offer[]> {
  if (source.kind === 'path') return localOffers(source.path, '', source, opened);
  if (source.kind === 'git') {
    const { url, ref, folder } = source;
    // Under the name of the repository: a skill at its root is checked against the name of its folder.
    const tree = join(work, 'tree', basename(folder ?? url.replace(/[/:]+$/, '').replace(/\.git$/, '')) || 'skill');
    const found = await fetchTree({ url, ref, folder, commit }, { repository: join(work, 'git'), tree }, limits).catch(
      (cause: unknown) => {
        throw asMcp(cause, url);
      },
    );
    return localOffers(tree, folder ?? '', { kind: 'git', url, ref, commit: found }, opened);
  }
  const { url } = source;
  return (await readIndex(url, limits)).map(listed => ({
    name: listed.name,
    description: listed.description,
    folder: '',
    place: listed.url,
    async load() {
      const content = await fetchListed(listed, work, limits);
      opened.push(content);
      const reading = readSkill(content, { mode: 'lenient', dialect: null });
      if (reading.skill !== null && reading.skill.name !== listed.name) {
        const name = visibleLine(reading.skill.name, 80);
        throw new SkillboxError('SOURCE_REFUSED', `the index says ${listed.name}, the skill itself ${name}`);
      }
      return { content, reading, source: { kind: 'well-known', url }, folder: '' };
    },
  }));
}

/** An address that is no repository and looks like that of an MCP server was meant as one. */
function asMcp(cause: unknown, url: string): unknown {
  if (!(cause instanceof SkillboxError) || cause.code !== 'SOURCE_FAILED' || !/^https?:.*\/(?:mcp|sse)\/?$/.test(url))
    return cause;
  const hint = `Where it is an MCP server, write mcp+${visibleLine(url, 200)}`;
  return new SkillboxError('SOURCE_FAILED', cause.message, { cause, hint });
}

/** Every skill at or below a path, read at once: a person is to choose by name. */
async function localOffers(path: string, above: string, source: LockedSource, opened: Folder[]): Promise<Offer[]> {
  const offers: Offer[] = [];
  for (const found of skillsAt(path)) {
    const content = await openFolder(found);
    opened.push(content);
    const reading = readSkill(content, { mode: 'lenient', dialect: null });
    const folder = [above, relative(path, found)].filter(part => part !== '').join('/');
    const { name, description } = reading.skill ?? { name: null, description: '' };
    offers.push({ name, description, folder, place: folder, load: async () => ({ content, reading, source, folder }) });
  }
  if (offers.length > 0) return offers;
  throw new SkillboxError(
    'NOT_A_SKILL',
    `there is no skill in ${visibleLine(above === '' ? basename(path) : above, 200)}`,
  );
}

function skillsAt(path: string): string[] {
  let root: string;
  try {
    root = realpathSync(path);
  } catch (cause) {
    throw new SkillboxError('NOT_FOUND', `there is no ${visibleLine(path, 200)}`, { cause });
  }
  const found = isFolder(path) ? findSkills(path) : [path];
  // a source consists of what lies in it. A link in a repository could lead to any folder of this machine.
  return found.filter(one => one === path || isInside(root, realpathSync(one)));
}

function isFolder(path: string): boolean {
  return process.getBuiltinModule('node:fs').statSync(path).isDirectory();
}
