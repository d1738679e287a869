import type { Hash } from 'node:crypto';
import { SkillboxError } from '../base/index.ts';
import type { FileEntry, Folder } from './folder.ts';

const VERSION = 'skillbox-digest-1';
const PREFIX = 'sb1-sha256:';

/** SHA-256 over paths in byte order, executable bits and contents, each framed by its length. */
export async function digestFolder(folder: Folder): Promise<string> {
  const digest = createDigest();
  for (const file of folder.files) {
    digest.begin(file);
    for await (const chunk of folder.stream(file.path)) digest.add(chunk);
  }
  return digest.end();
}

export type Digest = { begin(file: FileEntry): void; add(chunk: Buffer): void; end(): string };

/** The same digest fed piece by piece, for those who stream the files anyway. Files must come in `folder.files` order. */
export function createDigest(): Digest {
  // Loaded here: linting for a person needs no digest, and loading the module is felt at start.
  const { createHash } = process.getBuiltinModule('node:crypto');
  const hash = createHash('sha256').update(frame(Buffer.from(VERSION)));
  let open: { path: string; left: number } | null = null;
  return {
    begin(file) {
      finish(open);
      beginFile(hash, file);
      open = { path: file.path, left: file.size };
    },
    add(chunk) {
      if (open === null) throw new SkillboxError('INTERNAL', 'digest: content before a file');
      open.left -= chunk.length;
      hash.update(chunk);
    },
    end() {
      finish(open);
      return PREFIX + hash.digest('hex');
    },
  };
}

function beginFile(hash: Hash, file: FileEntry): void {
  hash.update(frame(Buffer.from(file.path)));
  hash.update(Buffer.from([file.executable ? 1 : 0]));
  hash.update(length(file.size));
}

function finish(open: { path: string; left: number } | null): void {
  if (open !== null && open.left !== 0) {
    throw new SkillboxError('SKILL_CHANGED', `${open.path} changed while it was read`);
  }
}

function frame(bytes: Buffer): Buffer {
  return Buffer.concat([length(bytes.length), bytes]);
}

function length(bytes: number): Buffer {
  const buffer = Buffer.alloc(8);
  buffer.writeUIntBE(bytes, 2, 6); // the upper two stay zero: no file has so much
  return buffer;
}
