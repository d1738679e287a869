import { createHmac, timingSafeEqual } from 'node:crypto';

/** What a signed URL stands for; nothing of it can be changed without the key. */
export type SignedBlob = {
  sha256: string;
  filename: string;
  contentType: string;
  /** Whose record names the blob; '' on a machine of one's own. */
  tenant: string;
  /** In seconds since 1970. */
  expires: number;
};

const NAMES = ['filename', 'type', 'tenant', 'expires', 'signature'] as const;
const SECONDS = /^[1-9][0-9]{0,11}$/;

/** As long as S3 allows. */
export const MAX_URL_SECONDS = 7 * 24 * 60 * 60;

/** The path and query below the server's address: GET brings the blob until it expires. */
export function signBlobUrl(key: Buffer, blob: SignedBlob): string {
  const known = { ...blob, filename: blob.filename.toWellFormed(), contentType: blob.contentType.toWellFormed() };
  const query = new URLSearchParams({
    filename: known.filename,
    type: known.contentType,
    tenant: known.tenant,
    expires: String(known.expires),
    signature: signatureOf(key, known),
  });
  return `/v1/blobs/${known.sha256}?${query.toString()}`;
}

/**
 * What the URL stands for; null when anything of it was altered, added or left out, or when it has expired. Threat: whoever has
 * one link makes another of it, for another blob, another tenant, or for longer.
 */
export function verifyBlobUrl(key: Buffer, sha256: string, query: URLSearchParams, nowMs: number): SignedBlob | null {
  if ([...query.keys()].sort().join() !== [...NAMES].sort().join()) return null;
  const [filename, contentType, tenant, expires, signature] = NAMES.map(name => query.get(name) ?? '') as [
    string,
    string,
    string,
    string,
    string,
  ];
  if (!SECONDS.test(expires)) return null;
  const blob = { sha256, filename, contentType, tenant, expires: Number(expires) };
  // As text: in base64 the last character may be another and mean the same.
  const given = Buffer.from(signature);
  const right = Buffer.from(signatureOf(key, blob));
  if (given.length !== right.length || !timingSafeEqual(given, right)) return null;
  return blob.expires * 1000 > nowMs ? blob : null;
}

/** Over a list, so that no two sets of values are one text; with a word in front that no other use of the key has. */
function signatureOf(key: Buffer, { sha256, filename, contentType, tenant, expires }: SignedBlob): string {
  const text = JSON.stringify(['skillbox blob url 1', sha256, filename, contentType, tenant, expires]);
  return createHmac('sha256', key).update(text).digest('base64url');
}
