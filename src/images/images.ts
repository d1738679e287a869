import { existsSync, readdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { Catalog, type Image, type Owners } from './catalog.ts';
import type { ImportHooks } from './import.ts';
import type { ImageLimits } from './limits.ts';
import { normalName, requireName } from './names.ts';
import { sweepStaging, trashPath, withStaging } from './staging.ts';

const DIGEST = /^[0-9a-f]{64}$/;

export type ImagesOptions = {
  directory: string;
  owners: Owners;
  limits: ImageLimits;
  /** Called before an image gets or loses its name; when it throws, nothing changes. */
  before: (change: 'import' | 'remove', image: Image) => Promise<void>;
};

export type Imported = { image: Image; notes: string[] };

/** The images of a data directory: unpacked once, kept by digest, found by name. */
export interface Images {
  /** Under a name that is taken it replaces the image; runs that use the old one keep it until they end. */
  import(name: string, path: string, hooks: ImportHooks): Promise<Imported>;
  list(): Image[];
  find(name: string): Image | null;
  /** Null when there is no such image. */
  remove(name: string): Promise<Image | null>;
  /** Where an image's files are. */
  rootOf(digest: string): string;
  /** Keeps the files until the answer is called; null when they are gone. */
  hold(digest: string): (() => void) | null;
  /** Removes what processes that are dead left half imported, or kept of an image that no name leads to. */
  sweep(): Promise<void>;
  close(): void;
}

export function openImages({ directory, owners, limits, before }: ImagesOptions): Images {
  const catalog = new Catalog(directory, owners);
  const rootOf = (digest: string) => join(directory, digest);
  const discard = (digest: string) => {
    // Renamed inside the transaction, removed after it: nobody ever sees half of an image.
    if (existsSync(rootOf(digest))) renameSync(rootOf(digest), trashPath(directory));
  };
  const tidy = async () => {
    catalog.releaseUnused(
      readdirSync(directory).filter(name => DIGEST.test(name)),
      discard,
    );
    await sweepStaging(directory, owners);
  };
  return {
    async import(given, path, hooks) {
      const name = requireName(given);
      // Only here: most processes never import an image.
      const { unpackImage } = await import('./import.ts');
      return withStaging(directory, owners, async staging => {
        const { root, notes, digest, bytes, entries, form, env } = await unpackImage(
          name,
          path,
          staging,
          limits,
          hooks,
        );
        const image: Image = { name, digest, bytes, entries, env, source: path, form, createdAt: Date.now() };
        const settle = () => {
          if (!existsSync(rootOf(digest))) renameSync(root, rootOf(digest));
        };
        await before('import', image);
        catalog.put(image, settle, discard);
        await tidy();
        return { image, notes };
      });
    },
    list: () => catalog.list(),
    find: name => catalog.find(normalName(name)),
    async remove(name) {
      const image = catalog.find(normalName(name));
      if (image === null) return null;
      await before('remove', image);
      const removed = catalog.remove(image.name, discard);
      if (removed !== null) await tidy();
      return removed;
    },
    rootOf,
    hold: digest => catalog.hold(digest, () => existsSync(rootOf(digest)), discard),
    async sweep() {
      // Most machines have no image, and this is asked at every run.
      if (existsSync(directory)) await tidy();
    },
    close: () => catalog.close(),
  };
}
