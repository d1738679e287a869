import type { FastifyInstance } from 'fastify';
import { SkillboxError } from '../base/index.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** Brackets and braces differ in one bit. */
const SHAPE = 0x20;
const OPENING = 0x7b;
const CLOSING = 0x7d;

/**
 * Whether JSON text nests deeper than that, told without parsing it. Threat: what reads, checks and prints values goes down
 * one call for each level, and a few hundred kilobytes of brackets end the process.
 */
export function isDeeper(bytes: Uint8Array, maxDepth: number): boolean {
  if (bytes.length <= maxDepth) return false;
  let depth = 0;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i] ?? 0;
    if (byte === QUOTE) i = endOfString(bytes, i + 1);
    else if ((byte | SHAPE) === OPENING) {
      depth++;
      if (depth > maxDepth) return true;
    } else if ((byte | SHAPE) === CLOSING) depth--;
  }
  return false;
}

/** Where the quote is that ends it: the first one with an even number of backslashes before it. Everybody else waits meanwhile. */
function endOfString(bytes: Uint8Array, start: number): number {
  for (let from = start; ; ) {
    const end = bytes.indexOf(QUOTE, from);
    if (end < 0) return bytes.length;
    let before = end;
    while (before > from && bytes[before - 1] === BACKSLASH) before--;
    if ((end - before) % 2 === 0) return end;
    from = end + 1;
  }
}

/** JSON bodies: UTF-8, of bounded depth, and with no key that would reach an object's prototype. */
export function takeJson(server: FastifyInstance, maxDepth: number): void {
  const parse = server.getDefaultJsonParser('error', 'error');
  const decoder = new TextDecoder('utf-8', { fatal: true });
  // Whatever is not taken by name is refused: the framework would take plain text as well.
  server.removeAllContentTypeParsers();
  server.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body: Buffer, done) => {
    if (isDeeper(body, maxDepth)) {
      done(new SkillboxError('BODY_REFUSED', `the body nests deeper than ${maxDepth} levels`));
      return;
    }
    const text = decode(decoder, body);
    if (text === null) done(new SkillboxError('BODY_REFUSED', 'the body is not UTF-8'));
    else void parse(request, text, done);
  });
}

function decode(decoder: InstanceType<typeof TextDecoder>, body: Buffer): string | null {
  try {
    return decoder.decode(body);
  } catch {
    return null; // bytes that are no text
  }
}
