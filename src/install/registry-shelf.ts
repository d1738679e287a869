import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SkillboxError, visibleLine } from '../base/index.ts';
import { readSkill } from '../dialects/index.ts';
import { digestFolder, type Folder, openArchive } from '../skill/index.ts';
import type { FetchLimits } from './git.ts';
import type { LockedSource } from './lock-file.ts';
import type { Loaded, Offer } from './obtain.ts';
import { checkUrl } from './url.ts';

/** A registry, as far as installing from it needs one. Whoever opens it knows how it is reached. */
export interface SkillSource {
  /** Its address; null for the registry of this machine. */
  readonly server: string | null;
  /** `wanted`: a version, a range, a tag, or null for `latest`. */
  resolve(name: string, wanted: string | null): Promise<Release>;
  /** The zip of an exact version. */
  download(name: string, version: string): Promise<AsyncIterable<Uint8Array>>;
  close(): Promise<void>;
}

/** What a registry says of a version. The digests are held against the bytes. */
export type Release = {
  name: string;
  version: string;
  description: string;
  digest: string;
  archive: { sha256: string; bytes: number };
};

export type RegistryLockedSource = Extract<LockedSource, { kind: 'registry' }>;
export type RegistryOffer = Offer & { release: Release; source: RegistryLockedSource };
/** `at`: where it must come from; null for whatever registry is set up. */
export type RegistryWish = { name: string; wanted: string | null; at: { server: string | null } | null };

/** Skills of one registry: one connection, whatever number of skills is taken from it. */
export class RegistryShelf {
  readonly #limits: FetchLimits;
  readonly #opened: Folder[];
  #source: Promise<SkillSource> | null = null;
  #work: string | null = null;

  /** Folders that are opened go to `opened`, and are closed by whoever owns it. */
  constructor(limits: FetchLimits, opened: Folder[]) {
    this.#limits = limits;
    this.#opened = opened;
  }

  /** The version that is meant; nothing of it is fetched. `pin`: this version exactly, and the wish only for the lock. */
  async get({ name, wanted, at }: RegistryWish, pin: string | null): Promise<RegistryOffer> {
    const registry = await this.#open();
    if (at !== null && at.server !== registry.server) throw elsewhere(name, at.server);
    const release = await registry.resolve(name, pin ?? wanted);
    const source: RegistryLockedSource = {
      kind: 'registry',
      server: registry.server,
      wanted,
      version: release.version,
    };
    const place = `${name}@${release.version}`;
    const load = () => this.#load(registry, release, source);
    return { name, description: release.description, folder: '', place, load, release, source };
  }

  async close(): Promise<void> {
    await this.#source?.then(one => one.close()).catch(() => undefined); // it never opened, or is gone already
    if (this.#work !== null) rmSync(this.#work, { recursive: true, force: true });
  }

  #open(): Promise<SkillSource> {
    if (this.#limits.registry === null) {
      throw new SkillboxError('SOURCE_UNSUPPORTED', 'there is no registry to install from here');
    }
    this.#source ??= this.#limits.registry().then(checkServer);
    return this.#source;
  }

  async #load(registry: SkillSource, release: Release, source: RegistryLockedSource): Promise<Loaded> {
    this.#work ??= mkdtempSync(join(tmpdir(), 'skillbox-shelf-'));
    const path = join(this.#work, `${this.#opened.length}.zip`);
    const { name, version } = release;
    const content = await registry.download(name, version);
    if ((await writeZip(path, content, this.#limits)) !== release.archive.sha256) throw altered(release);
    const folder = await openArchive(path);
    this.#opened.push(folder);
    if ((await digestFolder(folder)) !== release.digest) throw altered(release);
    const reading = readSkill(folder, { mode: 'lenient', dialect: null });
    if (reading.skill !== null && reading.skill.name !== name) {
      const own = visibleLine(reading.skill.name, 80);
      throw new SkillboxError('SOURCE_REFUSED', `the registry says ${name}, the skill itself ${own}`);
    }
    return { content: folder, reading, source, folder: '' };
  }
}

/** Its address goes into the lock, so it must be one that a lock may hold. */
async function checkServer(source: SkillSource): Promise<SkillSource> {
  try {
    if (source.server !== null) checkUrl(source.server);
    return source;
  } catch (error) {
    await source.close();
    throw error;
  }
}

/** Answers the SHA-256 of what was written. */
async function writeZip(path: string, content: AsyncIterable<Uint8Array>, limits: FetchLimits): Promise<string> {
  const hash = createHash('sha256');
  const file = await open(path, 'wx', 0o600);
  let bytes = 0;
  try {
    for await (const chunk of content) {
      bytes += chunk.length;
      if (bytes > limits.maxBytes) throw new SkillboxError('SOURCE_FAILED', 'the registry sends more than is taken');
      if (limits.signal?.aborted === true) throw new SkillboxError('CANCELED', 'it was interrupted');
      hash.update(chunk);
      await file.writeFile(chunk);
    }
  } finally {
    await file.close();
  }
  return hash.digest('hex');
}

function altered({ name, version }: Release): SkillboxError {
  return new SkillboxError('SOURCE_REFUSED', `${name} ${version} is not what the registry says it is`, {
    hint: 'Somebody changed it on the way, or in the registry. Nothing was written.',
  });
}

/** Threat: a lock that comes with a project must not choose which server is asked, and shown a key. */
function elsewhere(name: string, server: string | null): SkillboxError {
  const where = server === null ? 'the registry of the machine that it was added on' : visibleLine(server, 200);
  return new SkillboxError('SOURCE_REFUSED', `${name} comes from ${where}, which is not the one that is set up here`, {
    hint: server === null ? 'Unset SKILLBOX_SERVER_URL.' : `Set SKILLBOX_SERVER_URL to ${where}, if you trust it.`,
  });
}
