import type { ImageLimits } from './limits.ts';
import { refuse } from './refusal.ts';

const MAX_NAME_BYTES = 255;

/**
 * The names that lead from the image's root to an entry; none for the root itself. Any name that Linux holds is taken,
 * because images carry the oddest test files, but nothing that leaves the root or means two things.
 */
export function splitPath(path: string, limits: ImageLimits): string[] {
  // First, so that a name of megabytes costs nothing.
  if (path.length > limits.pathBytes || Buffer.byteLength(path) > limits.pathBytes)
    throw refuse('name', path, `is longer than ${limits.pathBytes} bytes`);
  if (path === '') throw refuse('name', path, 'is empty');
  if (path.startsWith('/')) throw refuse('name', path, 'is absolute');
  // U+FFFD is what broken bytes were decoded to: two such names could be one file.
  if (path.includes('\ufffd')) throw refuse('name', path, 'is not valid UTF-8');
  if (path.includes('\0')) throw refuse('name', path, 'holds a NUL, where the kernel would see the end of the name');
  const names = path.split('/').filter(name => name !== '' && name !== '.');
  if (names.includes('..')) throw refuse('name', path, 'climbs with ".."');
  if (names.length > limits.depth) throw refuse('name', path, `is deeper than ${limits.depth} levels`);
  if (names.some(name => Buffer.byteLength(name) > MAX_NAME_BYTES))
    throw refuse('name', path, `holds a name longer than ${MAX_NAME_BYTES} bytes`);
  return names;
}

/** A symbolic link is data: it may point anywhere, because only a run inside the image ever follows it. */
export function checkLinkTarget(path: string, target: string): void {
  if (target === '') throw refuse('link-target', path, 'is a link to nothing');
  if (target.includes('\0')) throw refuse('link-target', path, 'is a link to a name with a NUL');
  if (target.includes('\ufffd')) throw refuse('link-target', path, 'is a link to a name that is not valid UTF-8');
  if (Buffer.byteLength(target) > 4095) throw refuse('link-target', path, 'is a link longer than 4095 bytes');
}
