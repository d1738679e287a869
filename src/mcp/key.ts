import { createHash, timingSafeEqual } from 'node:crypto';

/** Compared by digest, so that neither its length nor its beginning is told by the time it takes. */
export function isKey(header: string | undefined, key: string): boolean {
  const given = /^Bearer +(\S+)$/i.exec(header ?? '')?.[1];
  return given !== undefined && timingSafeEqual(digest(given), digest(key));
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
