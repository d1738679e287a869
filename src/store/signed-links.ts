import {
  ensureOwnKey,
  MAX_URL_SECONDS,
  type SignedBlob,
  SkillboxError,
  signBlobUrl,
  verifyBlobUrl,
} from '../base/index.ts';
import type { UrlWish } from './blobs.ts';

const WORDS = {
  what: 'the key of signed links',
  hint: 'Remove it, and a new one is made; links that were given out stop working.',
};

/** Links to blobs of ours, for a server that has no S3 to sign them. */
export type SignedLinks = {
  /** Below the address where the server is reached. */
  sign: (sha256: string, wish: UrlWish) => string;
  /** What a link stands for; throws LINK_REFUSED for one that was altered or has expired. */
  verify: (sha256: string, query: URLSearchParams) => SignedBlob;
};

/** `address` is asked for each link: a server may learn its port only when it listens. */
export function openSignedLinks(keyPath: string, address: () => string): SignedLinks {
  let key: Buffer | null = null;
  const opened = () => {
    key ??= ensureOwnKey(keyPath, WORDS);
    return key;
  };
  return {
    sign(sha256, { filename, contentType, seconds, tenant }) {
      checkSeconds(seconds);
      const expires = Math.floor(Date.now() / 1000) + seconds;
      const path = signBlobUrl(opened(), { sha256, filename, contentType, tenant: tenant ?? '', expires });
      return `${address().replace(/\/+$/, '')}${path}`;
    },
    verify(sha256, query) {
      const blob = verifyBlobUrl(opened(), sha256, query, Date.now());
      if (blob === null) throw new SkillboxError('LINK_REFUSED', 'the link was altered, or has expired');
      return blob;
    },
  };
}

/** Throws USAGE for a time that no link may last. */
export function checkSeconds(seconds: number): void {
  if (Number.isSafeInteger(seconds) && seconds >= 1 && seconds <= MAX_URL_SECONDS) return;
  throw new SkillboxError('USAGE', `a link cannot last ${seconds} seconds`, {
    hint: `Ask for a whole number from 1 to ${MAX_URL_SECONDS}.`,
  });
}
