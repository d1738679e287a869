import { createHash, type Hash } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { errnoOf, SkillboxError } from '../base/index.ts';
import type { Blob } from './blobs.ts';
import { discard, partPath, type Writer } from './parts.ts';

/** Up to this much is kept in memory; what is larger waits in a file. */
export const SPOOL_BYTES = 1024 ** 2;

/** Content whose name is known; where it is until it is sent. */
export type Spooled = Blob & { content: { bytes: Buffer } | { path: string } };

/**
 * Reads the content to its end, because its name is known only then, and gives it to `use`; nothing stays afterwards. Sent
 * under another name at first, it would have to be copied and cleared there, and equal content would be sent again.
 */
export async function spooled<T>(
  content: AsyncIterable<Uint8Array>,
  directory: string,
  writer: Writer,
  use: (spooled: Spooled) => Promise<T>,
): Promise<T> {
  const path = partPath(directory, writer);
  const state: State = { hash: createHash('sha256'), bytes: 0, memory: [], file: null };
  try {
    try {
      for await (const chunk of content) await take(state, chunk, directory, path);
    } finally {
      await state.file?.close();
    }
    const { bytes, file, memory } = state;
    const held = file === null ? { bytes: Buffer.concat(memory) } : { path };
    state.memory = [];
    return await use({ sha256: state.hash.digest('hex'), bytes, content: held });
  } finally {
    if (state.file !== null) await discard(path);
  }
}

type State = { hash: Hash; bytes: number; memory: Uint8Array[]; file: FileHandle | null };

async function take(state: State, chunk: Uint8Array, directory: string, path: string): Promise<void> {
  state.hash.update(chunk);
  state.bytes += chunk.length;
  if (state.bytes <= SPOOL_BYTES) {
    state.memory.push(chunk);
    return;
  }
  try {
    if (state.file === null) {
      mkdirSync(directory, { recursive: true, mode: 0o700 });
      state.file = await open(path, 'wx', 0o600);
      for (const early of state.memory.splice(0)) await state.file.writeFile(early);
    }
    await state.file.writeFile(chunk);
  } catch (cause) {
    throw new SkillboxError('UNWRITABLE', `cannot keep a blob in ${directory} (${errnoOf(cause) ?? 'unknown'})`, {
      cause,
    });
  }
}
