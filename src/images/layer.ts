import { createHash } from 'node:crypto';
import { closeSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { readEntries, type TarEntry } from './entries.ts';
import { refuse } from './refusal.ts';
import type { Content, Tree } from './tree.ts';
import type { Chunks } from './unpack.ts';

/** Where the bytes of files lie until the image is written out: under our own names, never under the image's. */
export type Pool = { directory: string; count: number };

/** What was left out of an image, counted; a person is told. */
export type Omissions = { devices: number; privileges: number };

/** Puts one layer's entries over what the layers below it left. */
export async function applyLayer(what: string, tar: Chunks, tree: Tree, pool: Pool, left: Omissions): Promise<void> {
  tree.nextLayer();
  for await (const entry of readEntries(what, tar)) {
    const names = tree.enter(entry.name);
    if (names !== null) await apply(entry, names, tree, pool, left);
    else if (isRoot(entry.name) && entry.type !== 'directory')
      throw refuse('type', entry.name, 'is the root, and no directory');
  }
}

const isRoot = (name: string) => /^[./]*$/.test(name);

async function apply(entry: TarEntry, names: string[], tree: Tree, pool: Pool, left: Omissions): Promise<void> {
  const { name } = entry;
  switch (entry.type) {
    case 'directory':
      return tree.addDirectory(name, names);
    case 'file':
    case 'contiguous-file':
      // Old writers mark a directory by its name alone.
      if (name.endsWith('/') && entry.bytes === 0) return tree.addDirectory(name, names);
      // No program may gain a uid inside, and on the host the bits would be ours to give.
      if ((entry.mode & 0o6000) !== 0) left.privileges++;
      return tree.addFile(name, names, await store(entry, pool));
    case 'symlink':
      return tree.addLink(name, names, entry.linkTarget);
    case 'link':
      return tree.addHardLink(name, names, entry.linkTarget);
    case 'character-device':
    case 'block-device':
    case 'fifo':
      left.devices++;
      return tree.addNothing(name, names);
    default:
      throw refuse('type', name, 'is of a type that is not known');
  }
}

async function store(entry: TarEntry, pool: Pool): Promise<Content> {
  const stored = join(pool.directory, String(pool.count++));
  const hash = createHash('sha256');
  let bytes = 0;
  // Synchronous: tens of thousands of small files are written several times faster this way.
  const file = openSync(stored, 'wx', 0o600);
  try {
    for await (const chunk of entry.content) {
      hash.update(chunk);
      bytes += chunk.length;
      for (let at = 0; at < chunk.length; ) at += writeSync(file, chunk, at);
    }
  } finally {
    closeSync(file);
  }
  if (bytes !== entry.bytes) throw refuse('tar', entry.name, `has ${bytes} bytes, not ${entry.bytes}`);
  const executable = (entry.mode & 0o111) !== 0;
  return { stored, bytes, sha256: hash.digest('hex'), executable, mtimeSeconds: entry.mtimeSeconds, links: 1 };
}
