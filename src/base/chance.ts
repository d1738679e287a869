import { closeSync, openSync, readSync } from 'node:fs';

/**
 * From the kernel itself: Node's own crypto, which asks the same kernel, takes longer to load than all else that a sandbox is begun
 * with. Where there is no such device, from there.
 */
export function chance(bytes: number): Buffer {
  const buffer = Buffer.alloc(bytes);
  try {
    const fd = openSync('/dev/urandom', 'r');
    try {
      if (readSync(fd, buffer) === bytes) return buffer;
    } finally {
      closeSync(fd);
    }
  } catch {
    // not Linux
  }
  return process.getBuiltinModule('node:crypto').randomBytes(bytes);
}
