import { createHash } from 'node:crypto';
import { SkillboxError, visibleLine } from '../base/index.ts';
import type { SkillFile } from '../service/index.ts';
import type { SkillHead } from '../store/index.ts';
import { openPublished, type Shelf } from './open.ts';

/** Held in memory up to this size; what is larger is opened again when somebody reads it. */
const MAX_HELD_BYTES = 1024 ** 2;

/** One file of a published version, with its digest. Nothing stays open for a reader who never comes. */
export async function readPublishedFile(shelf: Shelf, head: SkillHead, path: string): Promise<SkillFile> {
  const folder = await openPublished(shelf, head);
  try {
    const entry = folder.file(path);
    if (entry === null) {
      const message = `${head.name} ${head.version} has no file "${visibleLine(path, 200)}"`;
      throw new SkillboxError('NOT_FOUND', message, { hint: 'Its description lists the files.' });
    }
    const hash = createHash('sha256');
    const held: Buffer[] = [];
    for await (const chunk of folder.stream(path)) {
      hash.update(chunk);
      if (entry.size <= MAX_HELD_BYTES) held.push(chunk);
    }
    const content = entry.size <= MAX_HELD_BYTES ? pieces(held) : reopen(shelf, head, path);
    return { path, bytes: entry.size, sha256: hash.digest('hex'), content };
  } finally {
    folder.close();
  }
}

async function* pieces(held: readonly Buffer[]): AsyncGenerator<Buffer> {
  yield* held;
}

async function* reopen(shelf: Shelf, head: SkillHead, path: string): AsyncGenerator<Buffer> {
  const folder = await openPublished(shelf, head);
  try {
    yield* folder.stream(path);
  } finally {
    folder.close();
  }
}
