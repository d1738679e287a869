import type { IncomingMessage } from 'node:http';
import { isJsonContentType } from '@modelcontextprotocol/server';

const MAX_BODY_BYTES = 4 * 1024 ** 2;

export type Body = { kind: 'json'; value: unknown } | { kind: 'refused'; status: number; why: string };

/** Bounded while it comes: what is said of its length may be a lie. */
export async function readBody(req: IncomingMessage): Promise<Body> {
  if (!isJsonContentType(req.headers['content-type'] ?? null))
    return refused(415, 'The body must be application/json.');
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of req) {
    bytes += (part as Buffer).length;
    if (bytes > MAX_BODY_BYTES) return refused(413, `The body has more than ${MAX_BODY_BYTES} bytes.`);
    parts.push(part as Buffer);
  }
  try {
    return { kind: 'json', value: JSON.parse(Buffer.concat(parts).toString('utf8')) };
  } catch {
    return refused(400, 'The body is not JSON.');
  }
}

function refused(status: number, why: string): Body {
  return { kind: 'refused', status, why };
}
