import { createHash } from 'node:crypto';
import { chmodSync, copyFileSync, linkSync, mkdirSync, renameSync, symlinkSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as breathe } from 'node:timers/promises';
import { errnoOf } from '../base/index.ts';
import type { Content, Directory, Node } from './tree.ts';
import { requireGoingOn } from './unpack.ts';

export type Written = { digest: string; bytes: number; entries: number };

/**
 * Writes the finished tree into a new directory and answers its digest. Every parent is a directory made a moment ago by
 * this loop, in a place that is ours alone: there is nothing that a link could lead astray.
 *
 * A run has a uid of its own, so everything is readable by all; nothing is writable, by modes here and by a read-only
 * mount in the sandbox. Owners, setuid bits, and extended attributes are not carried over.
 */
export async function writeTree(
  root: Directory,
  target: string,
  env: Record<string, string>,
  signal: AbortSignal | null,
): Promise<Written> {
  const variables = Object.entries(env).sort(([a], [b]) => (a < b ? -1 : 1));
  const hash = createHash('sha256').update(`skillbox image 1\n${JSON.stringify(variables)}\n`);
  const placed = new Map<Content, string>();
  const written = { bytes: 0, entries: 0 };
  mkdirSync(target, { mode: 0o755 });
  const stack: { node: Node; path: string }[] = childrenOf(root, '');
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    const { node, path } = next;
    hash.update(`${JSON.stringify(describe(node, path))}\n`);
    if (++written.entries % 256 === 0) await breathe();
    requireGoingOn(signal);
    const at = join(target, path);
    if (node.kind === 'directory') {
      mkdirSync(at, { mode: 0o755 });
      chmodSync(at, 0o755); // whatever the umask
      stack.push(...childrenOf(node, `${path}/`));
    } else if (node.kind === 'link') symlinkSync(node.target, at);
    else written.bytes += placeFile(node.content, at, placed);
  }
  chmodSync(target, 0o755);
  return { digest: hash.digest('hex'), ...written };
}

/** In the order of their names' bytes, the first on top: the same tree gives the same text on every machine. */
function childrenOf(directory: Directory, prefix: string): { node: Node; path: string }[] {
  return [...directory.children]
    .sort(([a], [b]) => Buffer.compare(Buffer.from(b), Buffer.from(a)))
    .map(([name, node]) => ({ node, path: prefix + name }));
}

function describe(node: Node, path: string): unknown[] {
  switch (node.kind) {
    case 'directory':
      return ['directory', path];
    case 'link':
      return ['link', path, node.target];
    case 'file': {
      const { executable, mtimeSeconds, bytes, sha256 } = node.content;
      return ['file', path, executable, mtimeSeconds, bytes, sha256];
    }
  }
}

function placeFile(content: Content, at: string, placed: Map<Content, string>): number {
  const first = placed.get(content);
  if (first === undefined) {
    chmodSync(content.stored, content.executable ? 0o555 : 0o444);
    // Kept: Python takes a compiled module for stale when its source has another time.
    utimesSync(content.stored, content.mtimeSeconds, content.mtimeSeconds);
    renameSync(content.stored, at);
    placed.set(content, at);
    return content.bytes;
  }
  try {
    linkSync(first, at);
    return 0;
  } catch (error) {
    if (errnoOf(error) !== 'EMLINK' && errnoOf(error) !== 'EPERM') throw error;
    copyFileSync(first, at); // this file system has no (more) second names for it
    return content.bytes;
  }
}
