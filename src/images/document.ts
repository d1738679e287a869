import { isObject, type JsonObject, type JsonValue } from '../base/index.ts';
import type { Carrier } from './carrier.ts';
import type { ImageLimits } from './limits.ts';
import { refuse } from './refusal.ts';
import { Tap } from './unpack.ts';

/** What a descriptor claims about a blob. */
export type Claim = { digest: string; bytes: number | null };

const DIGEST = /^sha256:[0-9a-f]{64}$/;

/** One JSON document of an image, verified before it is parsed. */
export async function readDocument(
  carrier: Carrier,
  path: string,
  claim: Claim | null,
  limits: ImageLimits,
): Promise<JsonValue> {
  const tap = new Tap();
  const chunks: Buffer[] = [];
  for await (const chunk of tap.watch(carrier.read(path))) {
    if (tap.bytes > limits.documentBytes)
      throw refuse('document', path, `is larger than ${limits.documentBytes} bytes`);
    chunks.push(chunk);
  }
  if (claim !== null) checkClaim(path, claim, tap.bytes, tap.digest());
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8')) as JsonValue;
  } catch (cause) {
    throw refuse('manifest', path, 'is not JSON', cause);
  }
}

export function checkClaim(path: string, claim: Claim, bytes: number, digest: string): void {
  if (claim.bytes !== null && claim.bytes !== bytes)
    throw refuse('size', path, `has ${bytes} bytes, and the image says ${claim.bytes}`);
  if (claim.digest !== digest) throw refuse('digest', path, `is ${digest}, and the image says ${claim.digest}`);
}

export function requireDigest(value: JsonValue | undefined, where: string): string {
  if (typeof value === 'string' && DIGEST.test(value)) return value;
  throw refuse('manifest', where, `has the digest ${JSON.stringify(value ?? null).slice(0, 100)}; only sha256 is read`);
}

export function requireObject(value: JsonValue | undefined, where: string): JsonObject {
  if (isObject(value)) return value;
  throw refuse('manifest', where, 'is not an object');
}

export function requireList(value: JsonValue | undefined, where: string): JsonValue[] {
  if (Array.isArray(value)) return value;
  throw refuse('manifest', where, 'is not a list');
}

export function textOf(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : '';
}
