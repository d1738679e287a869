import { hkdfSync } from 'node:crypto';
import { type GivenKey, openGivenKey } from './master-key.ts';
import { KEY_BYTES } from './seal.ts';

/**
 * A key of its own for a purpose, from the operator's master key: whoever has the one can make the other, and nobody can go
 * the way back. Machines that are given the same master key have it without having talked to each other.
 */
export function deriveKey(source: GivenKey, purpose: string): Buffer {
  const master = openGivenKey(source);
  try {
    return Buffer.from(hkdfSync('sha256', master.bytes, Buffer.alloc(0), `skillbox/${purpose}`, KEY_BYTES));
  } finally {
    master.close();
  }
}
