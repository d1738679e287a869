import { SkillboxError } from '../base/index.ts';

/**
 * Content-addressed bytes: written once, streamed both ways, never changed, shared by all tenants. Nobody may be given one for
 * its name alone: whoever asks must own a record that names it.
 */
export interface Blobs {
  /** Answers the SHA-256 of what was written, in hex. Equal content is stored once, and counts as written again. */
  put(content: AsyncIterable<Uint8Array>): Promise<Blob>;
  /** null when there is no such blob. A range is clipped to what there is. Read it or end it: it may hold a connection. */
  read(sha256: string, range?: ByteRange): Promise<AsyncIterable<Buffer> | null>;
  /** In bytes; null when there is no such blob. */
  size(sha256: string): Promise<number | null>;
  /**
   * False when it is not there, or was written at or after `writtenBefore`: somebody may be about to name it in a record.
   * null removes it in any case.
   */
  remove(sha256: string, writtenBefore: number | null): Promise<boolean>;
  /** By name; `after` is the `next` of the page before. */
  list(paging: { limit: number; after: string | null }): Promise<BlobPage>;
  /** A URL that anybody may fetch until it expires: signed now. It never shows what it brings inside a browser's page. */
  url(sha256: string, wish: UrlWish): Promise<string>;
  /** Throws BACKEND_UNAVAILABLE, or what else stands against it, when blobs cannot be stored and read just now. */
  check(): Promise<void>;
  /** Removes what dead processes left half written. */
  sweep(): Promise<void>;
  close(): Promise<void>;
}

export type Blob = { sha256: string; bytes: number };
export type StoredBlob = Blob & { writtenAt: number };
export type BlobPage = { items: StoredBlob[]; next: string | null };

/** Both ends included, as HTTP counts; null for all that is left. */
export type ByteRange = { start: number; end: number | null };

/** `filename`: what it is saved as. `tenant`: whose record names it; null on a machine of one's own. */
export type UrlWish = { filename: string; contentType: string; seconds: number; tenant: string | null };

const SHA256 = /^[0-9a-f]{64}$/;

/** Whether a name can be that of a blob; all others are never asked for, on a disk or elsewhere. */
export function isBlobName(name: string): boolean {
  return SHA256.test(name);
}

/** Throws USAGE for a range that no content could have. */
export function checkRange({ start, end }: ByteRange): void {
  if (Number.isSafeInteger(start) && start >= 0 && (end === null || (Number.isSafeInteger(end) && end >= start)))
    return;
  throw new SkillboxError('USAGE', `there is no range of bytes from ${start} to ${end ?? 'the end'}`, {
    hint: 'Count from 0; the end is included and comes after the start.',
  });
}
