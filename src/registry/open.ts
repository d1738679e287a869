import { SkillboxError } from '../base/index.ts';
import { type FileEntry, type Folder, type FolderOrigin, openArchive } from '../skill/index.ts';
import { type Blobs, discard, type SkillHead } from '../store/index.ts';
import type { RegistryLimits } from './limits.ts';
import { type Spool, spoolAside } from './spool.ts';

export type Shelf = { blobs: Blobs; spool: Spool; limits: RegistryLimits };

/** The bytes of a published version, opened when somebody reads them. */
export async function readArchive(blobs: Blobs, head: SkillHead): Promise<AsyncIterable<Buffer>> {
  if ((await blobs.size(head.archive.sha256)) === null) throw lost(head);
  return stream(blobs, head);
}

async function* stream(blobs: Blobs, head: SkillHead): AsyncGenerator<Buffer> {
  const content = await blobs.read(head.archive.sha256);
  if (content === null) throw lost(head);
  yield* content;
}

function lost({ name, version }: SkillHead): SkillboxError {
  return new SkillboxError('BACKEND_UNAVAILABLE', `the archive of ${name} ${version} is not in the blob store`);
}

type Unpacked = { folder: Folder; path: string };

/**
 * What is open, by where it lies and its digest. Threat: a small file of a large archive, asked for by a thousand at once,
 * would have the disk hold the archive a thousand times.
 */
const open = new Map<string, { unpacked: Promise<Unpacked>; users: number }>();

/** A published version as a folder. It lies in a private file, one for all who have it open, until the last of them closes it. */
export async function openPublished(shelf: Shelf, head: SkillHead): Promise<Folder> {
  const key = `${shelf.spool.directory} ${head.archive.sha256}`;
  const shared = open.get(key) ?? { unpacked: unpack(shelf, head), users: 0 };
  open.set(key, shared);
  shared.users++;
  const leave = () => {
    shared.users--;
    if (shared.users > 0) return;
    open.delete(key);
    shared.unpacked.then(close, () => undefined);
  };
  try {
    return new PublishedFolder((await shared.unpacked).folder, head, leave);
  } catch (error) {
    leave();
    throw error;
  }
}

function close({ folder, path }: Unpacked): void {
  folder.close();
  void discard(path);
}

async function unpack({ blobs, spool, limits }: Shelf, head: SkillHead): Promise<Unpacked> {
  const spooled = await spoolAside(spool, await readArchive(blobs, head), limits.maxArchiveBytes);
  try {
    if (spooled.sha256 !== head.archive.sha256) {
      throw new SkillboxError(
        'SKILL_CHANGED',
        `the stored archive of ${head.name} ${head.version} is not what was published`,
      );
    }
    const folder = await openArchive(spooled.path, { maxBytes: limits.maxBytes, maxFiles: limits.maxFiles });
    return { folder, path: spooled.path };
  } catch (error) {
    await discard(spooled.path);
    throw error;
  }
}

/** A folder that says where it comes from: the registry, not the private file that it lies in for the moment. */
class PublishedFolder implements Folder {
  readonly origin: FolderOrigin;
  readonly #folder: Folder;
  #leave: (() => void) | null;

  constructor(folder: Folder, { name, publishedBy }: SkillHead, leave: () => void) {
    this.origin = { kind: 'registry', path: `registry:${name}`, publisher: publishedBy };
    this.#folder = folder;
    this.#leave = leave;
  }

  get name(): string | null {
    return this.#folder.name;
  }

  get files(): readonly FileEntry[] {
    return this.#folder.files;
  }

  get problems(): Folder['problems'] {
    return this.#folder.problems;
  }

  file(path: string): FileEntry | null {
    return this.#folder.file(path);
  }

  read(path: string, maxBytes: number): Buffer {
    return this.#folder.read(path, maxBytes);
  }

  stream(path: string): AsyncIterable<Buffer> {
    return this.#folder.stream(path);
  }

  close(): void {
    this.#leave?.();
    this.#leave = null;
  }
}
