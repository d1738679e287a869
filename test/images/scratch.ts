import { lstatSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { SkillboxError } from '../../src/base/index.ts';
import { DEFAULT_IMAGE_LIMITS, type ImageLimits, type Images, openImages } from '../../src/images/index.ts';
import { tempDirectory } from '../temp.ts';
import { makeTar, type TarItem } from './make-tar.ts';

export const HOOKS = { onProgress: () => undefined, signal: null };

/** An image store of the test's own, and a place beside it that no import may touch. */
export class Scratch {
  readonly #base = tempDirectory();

  open(limits: Partial<ImageLimits> = {}): Images & { directory: string } {
    const directory = join(mkdtempSync(join(this.#base, 'store-')), 'images');
    const owners = { mine: () => 'me', isAlive: (owner: string) => owner === 'me' };
    return {
      ...openImages({
        directory,
        owners,
        limits: { ...DEFAULT_IMAGE_LIMITS, ...limits },
        before: async () => undefined,
      }),
      directory,
    };
  }

  write(data: Buffer, name = 'image.tar'): string {
    const path = join(mkdtempSync(join(this.#base, 'file-')), name);
    writeFileSync(path, data);
    return path;
  }

  directory(): string {
    return mkdtempSync(join(this.#base, 'dir-'));
  }

  /** Imports a file and answers the tree that a run would see. */
  async unpack(data: Buffer, limits: Partial<ImageLimits> = {}): Promise<Record<string, string>> {
    const images = this.open(limits);
    const { image } = await images.import('x:1', this.write(data), HOOKS);
    const seen = look(images.rootOf(image.digest));
    images.close();
    return seen;
  }

  /** Imports what must be refused, and proves that nothing of it stayed; answers why. */
  async refuse(source: Buffer | string, limits: Partial<ImageLimits> = {}): Promise<{ code: string; reason: unknown }> {
    const images = this.open(limits);
    const before = look(this.#base, images.directory);
    const path = typeof source === 'string' ? source : this.write(source);
    const after = typeof source === 'string' ? before : look(this.#base, images.directory);
    const error = await images.import('x:1', path, HOOKS).then(
      () => null,
      (cause: unknown) => cause,
    );
    expect(images.list()).toEqual([]);
    expect(readdirSync(images.directory).filter(name => !name.startsWith('images.db'))).toEqual([]);
    expect(look(this.#base, images.directory)).toEqual(after);
    images.close();
    if (!(error instanceof SkillboxError)) throw new Error(`not refused: ${String(error)}`, { cause: error });
    return { code: error.code, reason: error.details.reason };
  }

  refuseRoot(items: readonly TarItem[], limits: Partial<ImageLimits> = {}) {
    return this.refuse(makeTar(items), limits);
  }
}

/** What lies below a directory: text of files, `-> target` of links, `/` for directories. */
export function look(root: string, except: string | null = null): Record<string, string> {
  const seen = Object.create(null) as Record<string, string>; // a file may be called __proto__
  const visit = (path: string) => {
    for (const name of readdirSync(join(root, path)).sort()) {
      const inside = path === '' ? name : `${path}/${name}`;
      const at = join(root, inside);
      if (at === except || name.startsWith('images.db')) continue;
      const info = lstatSync(at);
      if (info.isDirectory()) {
        seen[inside] = '/';
        visit(inside);
      } else if (info.isSymbolicLink()) seen[inside] = `-> ${readlinkSync(at)}`;
      // A FIFO of an attack would hold the reader for ever.
      else seen[inside] = info.isFile() ? readFileSync(at, 'latin1').slice(0, 4096) : '?';
    }
  };
  visit('');
  return seen;
}
