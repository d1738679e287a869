import type { FastifyInstance } from 'fastify';
import { SkillboxError } from '../base/index.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPENING: readonly number[] = [0x5b, 0x7b];
const CLOSING: readonly number[] = [0x5d, 0x7d];

/**
 * Whether JSON text nests deeper than that, told without parsing it. Threat: what reads, checks and prints values goes down
 * one call for each level, and a few hundred kilobytes of brackets end the process.
 */
export function isDeeper(bytes: Uint8Array, maxDepth: number): boolean {
  if (bytes.length <= maxDepth) return false;
  let depth = 0;
  let inString = false;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i] ?? 0;
    if (inString) {
      if (byte === BACKSLASH) i++;
      else if (byte === QUOTE) inString = false;
    } else if (byte === QUOTE) inString = true;
    else if (OPENING.includes(byte)) {
      depth++;
      if (depth > maxDepth) return true;
    } else if (CLOSING.includes(byte)) depth--;
  }
  return false;
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
