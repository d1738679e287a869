import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Folder } from '../skill/index.ts';
import type { FetchLimits } from './git.ts';
import type { LockedSource } from './lock-file.ts';
import { parseServer } from './mcp-server.ts';
import { type McpOffer, type McpShelf, openMcpShelf } from './mcp-shelf.ts';

export type McpLockedSource = Extract<LockedSource, { kind: 'mcp' }>;

/** The MCP servers that a lock names: one connection to each, whatever number of skills comes from it. */
export class LockedServers {
  readonly #limits: FetchLimits;
  readonly #opened: Folder[];
  readonly #shelves = new Map<string, Promise<McpShelf>>();
  readonly #directories: string[] = [];

  /** Folders that are opened go to `opened`, and are closed by whoever owns it. */
  constructor(limits: FetchLimits, opened: Folder[]) {
    this.#limits = limits;
    this.#opened = opened;
  }

  /** What the server lists of the skill now; nothing of it is read. Null when it has no such skill any more. */
  async get({ server, uri }: McpLockedSource): Promise<McpOffer | null> {
    const shelf = this.#shelves.get(server) ?? this.#open(server);
    this.#shelves.set(server, shelf);
    return (await shelf).get(uri);
  }

  #open(server: string): Promise<McpShelf> {
    const work = mkdtempSync(join(tmpdir(), 'skillbox-mcp-'));
    this.#directories.push(work);
    return openMcpShelf(parseServer(server), this.#limits, work, this.#opened);
  }

  async close(): Promise<void> {
    for (const shelf of this.#shelves.values()) {
      await shelf.then(one => one.close()).catch(() => undefined); // it never opened, or is gone already
    }
    for (const directory of this.#directories) rmSync(directory, { recursive: true, force: true });
  }
}
