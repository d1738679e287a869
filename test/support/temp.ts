import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { verifyJournals } from './journals.ts';

const made: string[] = [];

/** A directory that `tidy` removes. */
export function tempDir(name: string, mode = 0o700, parent = tmpdir()): string {
  const path = mkdtempSync(join(parent, `skillbox-${name}-`));
  chmodSync(path, mode);
  made.push(path);
  return path;
}

/** Call it at the top of a test file: what the file made in temporary places goes when it ends, if its journals are whole. */
export function tidy(): void {
  afterAll(async () => {
    const paths = made.splice(0);
    try {
      for (const path of paths) await verifyJournals(path);
    } finally {
      for (const path of paths) rmSync(path, { recursive: true, force: true });
    }
    // Hundreds of thousands of files in some, on a disk that others use too.
  }, 120_000);
}
