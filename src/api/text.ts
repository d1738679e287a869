import type { Bytes } from '../service/index.ts';

const MAX_TEXT_BYTES = 1024 ** 2;

/** A file as text inside of JSON; null where it is none, or more than belongs there. */
export async function textOf(content: Bytes, bytes: number): Promise<string | null> {
  if (bytes > MAX_TEXT_BYTES) return null;
  const parts: Uint8Array[] = [];
  for await (const part of content) parts.push(part);
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.concat(parts));
  } catch {
    return null; // bytes that are no text
  }
}
