import { isAbsolute, relative, resolve } from 'node:path';
import { SkillboxError } from '../base/index.ts';
import { readSkill } from '../dialects/index.ts';
import { digestFolder, type Folder, openDirectory } from '../skill/index.ts';
import { isInPlace, lookAt, storedAt } from './disk.ts';
import { FETCH_LIMITS, type FetchLimits } from './git.ts';
import { type LockedSkill, type LockedSource, readLock } from './lock-file.ts';
import { LockedServers, type McpLockedSource } from './mcp-locked.ts';
import { type Loaded, type Obtained, type Offer, obtain } from './obtain.ts';
import type { Wanted } from './plan.ts';
import { type RegistryLockedSource, type RegistryOffer, RegistryShelf } from './registry-shelf.ts';
import { isInside, type Scope } from './scope.ts';
import type { Source } from './source.ts';

/** A skill by its name, and its folder where that is known. */
type Named = Pick<LockedSkill, 'name' | 'source'> & { folder: string | null };

function isMeant({ folder, name }: Offer, skill: Named): boolean {
  return name === skill.name && (skill.folder === null || folder === skill.folder);
}

/** Gets again what a lock names. Each source is fetched once, whatever number of skills comes from it. */
export class LockedSources {
  readonly #scope: Scope;
  readonly #limits: FetchLimits;
  readonly #obtained = new Map<string, Promise<Obtained>>();
  readonly #opened: Folder[] = [];
  readonly #servers: LockedServers;
  readonly #registry: RegistryShelf;

  constructor(scope: Scope, limits: FetchLimits = FETCH_LIMITS) {
    this.#scope = scope;
    this.#limits = limits;
    this.#servers = new LockedServers(limits, this.#opened);
    this.#registry = new RegistryShelf(limits, this.#opened);
  }

  /** `pinned`: exactly what the lock says; otherwise what the source has now. Null when it has no such skill any more. */
  async load(skill: Named, pinned: boolean): Promise<Loaded | null> {
    if (skill.source.kind === 'mcp') {
      const offer = await this.#servers.get(skill.source);
      // An approval is for the whole set that was listed: nothing of another one is read.
      if (pinned && offer !== null && offer.entry.set !== skill.source.set) {
        throw mismatch(`${skill.name} is not what the lock says: the MCP server lists other files`, skill.name);
      }
      return offer === null ? null : offer.load();
    }
    if (skill.source.kind === 'registry') {
      return (await this.#published(skill.name, skill.source, pinned))?.load() ?? null;
    }
    const source = this.#sourceOf(skill.source, null);
    const commit = pinned && skill.source.kind === 'git' ? skill.source.commit : null;
    const { offers } = await this.#get(source, commit);
    const offer = offers.find(one => isMeant(one, skill));
    if (offer !== undefined) return withSource(await offer.load(), this.#scope);
    if (source.kind !== 'git' || skill.folder === null || skill.folder === '') return null;
    // It may lie in a folder that a search of the whole repository does not enter.
    const below = await this.#get(this.#sourceOf(skill.source, skill.folder), commit).catch(asAbsent);
    const found = below?.offers.find(one => isMeant(one, skill));
    return found === undefined ? null : withSource(await found.load(), this.#scope);
  }

  /** The stored copy, when it is what the lock says. */
  async stored(skill: LockedSkill): Promise<Loaded | null> {
    const path = storedAt(this.#scope, skill.name);
    if (!isInPlace(this.#scope, { path, what: 'store' }, skill.name, skill.digest, await lookAt(path))) return null;
    const content = openDirectory(path);
    this.#opened.push(content);
    const reading = readSkill(content, { mode: 'lenient', dialect: null });
    return { content, reading, source: skill.source, folder: skill.folder };
  }

  /** What the source has now, and whether that is other than the lock says. Of an MCP server nothing but its list is read. */
  async latest(skill: LockedSkill): Promise<Latest | null> {
    if (skill.source.kind === 'mcp') {
      const offer = await this.#servers.get(skill.source);
      if (offer === null) return null;
      const { set, version } = offer.entry;
      const same = set === skill.source.set;
      const source = { ...skill.source, set };
      return { same, version, digest: same ? skill.digest : null, source, folder: '', load: () => offer.load() };
    }
    if (skill.source.kind === 'registry') {
      const offer = await this.#published(skill.name, skill.source, false);
      if (offer === null) return null;
      const { release, source } = offer;
      const { version, digest } = release;
      const same = digest === skill.digest && version === skill.source.version;
      return { same, version, digest, source, folder: '', load: () => offer.load() };
    }
    const loaded = await this.load(skill, false);
    if (loaded === null) return null;
    const { source, folder, reading, content } = loaded;
    const digest = await digestFolder(content);
    const version = reading.skill?.version ?? null;
    return { same: digest === skill.digest, version, digest, source, folder, load: async () => loaded };
  }

  async close(): Promise<void> {
    for (const folder of this.#opened) folder.close();
    for (const obtained of this.#obtained.values()) await (await obtained.catch(() => null))?.close();
    await this.#servers.close();
    await this.#registry.close();
  }

  /** Null when the registry has no such version, or offers none that fits any more. */
  #published(name: string, source: RegistryLockedSource, pinned: boolean): Promise<RegistryOffer | null> {
    const { server, wanted, version } = source;
    return this.#registry.get({ name, wanted, at: { server } }, pinned ? version : null).catch(asAbsent);
  }

  #sourceOf(source: Exclude<LockedSource, McpLockedSource | RegistryLockedSource>, folder: string | null): Source {
    if (source.kind === 'path') return { kind: 'path', path: resolve(this.#scope.root, source.path) };
    return source.kind === 'git' ? { kind: 'git', url: source.url, ref: source.ref, folder } : source;
  }

  #get(source: Source, commit: string | null): Promise<Obtained> {
    const key = JSON.stringify([source, commit]);
    const known = this.#obtained.get(key) ?? obtain(source, commit, this.#limits);
    this.#obtained.set(key, known);
    return known;
  }
}

function asAbsent(cause: unknown): null {
  if (cause instanceof SkillboxError && (cause.code === 'NOT_FOUND' || cause.code === 'NOT_A_SKILL')) return null;
  throw cause;
}

/** A path inside the project is kept relative to it, so that the lock holds for everybody who has the project. */
export function withSource(loaded: Loaded, scope: Scope): Loaded {
  const { source } = loaded;
  if (source.kind !== 'path' || !isAbsolute(source.path) || !isInside(scope.root, source.path)) return loaded;
  return { ...loaded, source: { kind: 'path', path: relative(scope.root, source.path) } };
}

/** What `install` restores: exactly what the lock says, or nothing. */
export async function wantedByLock(scope: Scope, sources: LockedSources): Promise<Wanted[]> {
  const wanted: Wanted[] = [];
  for (const skill of readLock(scope.lockPath).values()) {
    const loaded = (await sources.stored(skill)) ?? (await sources.load(skill, true));
    if (loaded === null) throw gone(skill.name);
    const digest = await digestFolder(loaded.content);
    if (digest !== skill.digest) throw mismatch(`${skill.name} is not what the lock says: ${digest}`, skill.name);
    const { source, agents, method } = skill;
    wanted.push({ loaded: { ...loaded, source }, agents, method, nested: true });
  }
  return wanted;
}

/** There is nothing to take instead, as there is where the bytes are others. */
function gone(name: string): SkillboxError {
  return new SkillboxError('LOCK_MISMATCH', `${name} is no longer in its source`, {
    hint: `Nothing was changed. To go on without it: skillbox remove ${name}`,
    details: { skill: name },
  });
}

function mismatch(message: string, name: string): SkillboxError {
  return new SkillboxError('LOCK_MISMATCH', message, { details: { skill: name } });
}

/** What a source has in the place of an installed skill. The digest is null where nothing was read yet. */
export type Latest = {
  same: boolean;
  version: string | null;
  digest: string | null;
  source: LockedSource;
  folder: string;
  load(): Promise<Loaded>;
};

export type Outdated = { skill: LockedSkill; latest: Latest };

/** `gone`: no longer in their source; they stay as they are. */
export type Compared = { outdated: Outdated[]; gone: string[] };

/** Installed skills whose source has something else by now. */
export async function findOutdated(scope: Scope, names: readonly string[], sources: LockedSources): Promise<Compared> {
  const lock = readLock(scope.lockPath);
  const unknown = names.find(name => !lock.has(name));
  if (unknown !== undefined) {
    throw new SkillboxError('NOT_FOUND', `${unknown} is not in ${scope.lockPath}`, {
      hint: 'skillbox list shows what is installed.',
    });
  }
  const compared: Compared = { outdated: [], gone: [] };
  for (const skill of lock.values()) {
    if (names.length > 0 && !names.includes(skill.name)) continue;
    const latest = await sources.latest(skill);
    if (latest === null) compared.gone.push(skill.name);
    else if (!latest.same) compared.outdated.push({ skill, latest });
  }
  return compared;
}
