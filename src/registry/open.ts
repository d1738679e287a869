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

/** A published version as a folder. It lies in a private file until it is closed. */
export async function openPublished({ blobs, spool, limits }: Shelf, head: SkillHead): Promise<Folder> {
  const spooled = await spoolAside(spool, await readArchive(blobs, head), limits.maxArchiveBytes);
  try {
    if (spooled.sha256 !== head.archive.sha256) {
      throw new SkillboxError(
        'SKILL_CHANGED',
        `the stored archive of ${head.name} ${head.version} is not what was published`,
      );
    }
    const folder = await openArchive(spooled.path, { maxBytes: limits.maxBytes, maxFiles: limits.maxFiles });
    return new PublishedFolder(folder, head, () => void discard(spooled.path));
  } catch (error) {
    await discard(spooled.path);
    throw error;
  }
}

/** A folder that says where it comes from: the registry, not the private file that it lies in for the moment. */
class PublishedFolder implements Folder {
  readonly origin: FolderOrigin;
  readonly #folder: Folder;
  readonly #discard: () => void;

  constructor(folder: Folder, { name, publishedBy }: SkillHead, discarding: () => void) {
    this.origin = { kind: 'registry', path: `registry:${name}`, publisher: publishedBy };
    this.#folder = folder;
    this.#discard = discarding;
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
    this.#folder.close();
    this.#discard();
  }
}
