import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';

const made: string[] = [];

/** A directory that `tidy` removes. */
export function tempDir(name: string, mode = 0o700, parent = tmpdir()): string {
  const path = mkdtempSync(join(parent, `skillbox-${name}-`));
  chmodSync(path, mode);
  made.push(path);
  return path;
}

/** Call it at the top of a test file: what the file made in temporary places goes when it ends. */
export function tidy(): void {
  afterAll(() => {
    for (const path of made.splice(0)) rmSync(path, { recursive: true, force: true });
  });
}
