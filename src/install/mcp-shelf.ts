import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { SkillboxError, visibleLine } from '../base/index.ts';
import { readSkill } from '../dialects/index.ts';
import { type Folder, openDirectory } from '../skill/index.ts';
import type { FetchLimits } from './git.ts';
import { type McpEntry, readEntry, type ServedSkill } from './mcp-entry.ts';
import { type McpServer, showServer } from './mcp-server.ts';
import type { McpSession } from './mcp-session.ts';
import type { Loaded, Offer } from './obtain.ts';

/** A skill that a server has, with what an approval of it would be bound to. Nothing of it is read before `load`. */
export type McpOffer = Offer & { entry: McpEntry };

/** The skills of one MCP server (SEP-2640, the host's side). */
export interface McpShelf {
  list(): Promise<Offer[]>;
  /** Null when the server has no such skill. */
  get(uri: string): Promise<McpOffer | null>;
  close(): Promise<void>;
}

/** `work`: an empty directory of ours. Folders that are opened go to `opened`, and are closed by whoever owns it. */
export async function openMcpShelf(
  server: McpServer,
  limits: FetchLimits,
  work: string,
  opened: Folder[],
): Promise<McpShelf> {
  const { connectMcp } = await import('./mcp-session.ts');
  const session = await connectMcp(server, limits);
  let count = 0;
  const offer = (served: ServedSkill): McpOffer => {
    const entry = readEntry(served);
    const load = async () => {
      const folder = join(work, String(count++), entry.name);
      await fetchFiles(session, served, entry, folder);
      const content = openDirectory(folder);
      opened.push(content);
      return loadedFrom(content, server, entry);
    };
    return { name: entry.name, description: entry.description, folder: '', place: entry.uri, entry, load };
  };
  return {
    async list() {
      const { skills, invalid } = await session.list();
      return [
        ...skills.map(served => orUnusable(served, offer)),
        ...invalid.map(({ uri, reason }) => broken(uri, reason)),
      ];
    },
    async get(uri) {
      const served = await session.get(uri);
      return served === null ? null : offer(served);
    },
    close: () => session.close(),
  };
}

/** One that cannot be had stays in the list under its name, and says why when it is chosen. */
function orUnusable(served: ServedSkill, offer: (served: ServedSkill) => Offer): Offer {
  try {
    return offer(served);
  } catch (cause) {
    if (!(cause instanceof SkillboxError)) throw cause;
    const { name, description } = served.frontmatter;
    return { name, description, folder: '', place: served.uri, load: () => Promise.reject(cause) };
  }
}

function broken(uri: string, reason: string): Offer {
  const message = `the server's entry for ${visibleLine(uri, 120)} is not valid: ${visibleLine(reason, 200)}`;
  const load = () => Promise.reject(new SkillboxError('SOURCE_REFUSED', message));
  return { name: null, description: reason, folder: '', place: uri, load };
}

function fetchFiles(session: McpSession, served: ServedSkill, entry: McpEntry, folder: string): Promise<void> {
  return session.read(served, entry, (file, bytes) => {
    const path = join(folder, file.path);
    mkdirSync(dirname(path), { recursive: true });
    // The protocol knows no executable files.
    writeFileSync(path, bytes, { flag: 'wx', mode: 0o644 });
  });
}

function loadedFrom(content: Folder, server: McpServer, { uri, name, set }: McpEntry): Loaded {
  const reading = readSkill(content, { mode: 'lenient', dialect: null });
  if (reading.skill !== null && reading.skill.name !== name) {
    const inside = visibleLine(reading.skill.name, 80);
    throw new SkillboxError('SOURCE_REFUSED', `the server says ${name}, the skill itself ${inside}`);
  }
  return { content, reading, source: { kind: 'mcp', server: showServer(server), uri, set }, folder: '' };
}
