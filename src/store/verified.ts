import { createHash } from 'node:crypto';
import { SkillboxError } from '../base/index.ts';

/** The content, checked by its name while it passes. `translate` says in our words what broke on the way. */
export async function* verified(
  content: AsyncIterable<Uint8Array>,
  sha256: string,
  translate: (error: unknown) => Error,
): AsyncGenerator<Buffer> {
  const hash = createHash('sha256');
  // One piece is held back: whoever counts bytes must not have them all before they are known to be right.
  let held: Buffer | null = null;
  for await (const piece of plain(content, translate)) {
    hash.update(piece);
    if (held !== null) yield held;
    held = piece;
  }
  if (hash.digest('hex') !== sha256)
    throw new SkillboxError('BLOB_DAMAGED', `the blob ${sha256} does not hold what its name says`);
  if (held !== null) yield held;
}

/** A part cannot be checked by the name of the whole. */
export async function* plain(
  content: AsyncIterable<Uint8Array>,
  translate: (error: unknown) => Error,
): AsyncGenerator<Buffer> {
  const pieces = content[Symbol.asyncIterator]();
  let done = false;
  try {
    for (;;) {
      const next = await pieces.next().catch((error: unknown) => {
        done = true;
        throw translate(error);
      });
      if (next.done === true) {
        done = true;
        return;
      }
      const { value } = next;
      yield Buffer.from(value.buffer, value.byteOffset, value.byteLength);
    }
  } finally {
    // Whoever stops early closes the connection.
    if (!done) await pieces.return?.();
  }
}
