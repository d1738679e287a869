import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** From src/base, from dist/lib/base, and from a bundle in dist/cli. */
const PLACES = ['../../dist/helper/', '../../helper/', '../helper/'];

/** A static program of ours that was built for this machine, or null. It is looked up beside our own code, never on PATH. */
export function findOwnProgram(name: string): string | null {
  for (const place of PLACES) {
    const path = fileURLToPath(new URL(`${place}${name}-${process.arch}`, import.meta.url));
    if (existsSync(path)) return path;
  }
  return null;
}
