import { createGzip } from 'node:zlib';
import { type Pack, pack } from 'tar-stream';
import { SkillboxError } from '../base/index.ts';
import type { Artifact, Blobs } from '../store/index.ts';

/** The artifacts as one tar.gz, built from the stored blobs, so that the archive and the single files cannot differ. */
export async function* archiveOf(artifacts: readonly Artifact[], blobs: Blobs): AsyncGenerator<Buffer> {
  const tar = pack();
  const zipped = createGzip({ level: 6 });
  tar.on('error', error => zipped.destroy(error));
  tar.pipe(zipped);
  const filled = fill(tar, artifacts, blobs).catch((error: Error) => tar.destroy(error));
  try {
    yield* zipped as AsyncIterable<Buffer>;
  } finally {
    // Whoever reads may stop early, as when the disk is full: then nobody would ever ask for the rest.
    tar.destroy();
    zipped.destroy();
    await filled;
  }
}

async function fill(tar: Pack, artifacts: readonly Artifact[], blobs: Blobs): Promise<void> {
  let live = true;
  tar.once('close', () => {
    live = false;
  });
  for (const { path, bytes, sha256 } of artifacts) {
    if (!live) return;
    const content = await blobs.read(sha256);
    if (content === null) throw new SkillboxError('INTERNAL', `the blob of ${path} vanished`);
    const entry = tar.entry({ name: path, size: bytes, mode: 0o644, mtime: new Date(0) });
    let fault: Error | null = null;
    const closed = new Promise<void>(resolve => {
      entry.once('error', error => {
        fault = error;
      });
      entry.once('close', () => resolve());
    });
    for await (const chunk of content) {
      if (!live || fault !== null) break;
      if (!entry.write(chunk)) {
        await Promise.race([new Promise<void>(resolve => entry.once('drain', () => resolve())), closed]);
      }
    }
    if (live) entry.end(null);
    await closed;
    if (live && fault !== null) throw fault;
  }
  if (live) tar.finalize();
}
