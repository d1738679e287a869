import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll } from 'vitest';
import { verifyJournals } from './support/journals.ts';

const made: string[] = [];

/** A directory of the test file's own, gone when its tests are. */
export function tempDirectory(): string {
  const path = mkdtempSync(join(tmpdir(), 'skillbox-test-'));
  made.push(path);
  // Counts only where a file asks at its top; what a test asks for in its middle is removed by setup.ts.
  // Thousands of files, on a disk that others use too.
  afterAll(async () => {
    try {
      await verifyJournals(path);
    } finally {
      rmSync(path, { recursive: true, force: true });
    }
  }, 120_000);
  return path;
}

/** Writes files below a directory; a name that ends with `*` is executable. */
export function writeFiles(directory: string, files: Record<string, string | Buffer>): string {
  for (const [name, content] of Object.entries(files)) {
    const path = join(directory, name.replace(/\*$/, ''));
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content);
    if (name.endsWith('*')) chmodSync(path, 0o755);
  }
  return directory;
}

/** What is left when all tests of a file are over. */
export function removeTemp(): void {
  for (const path of made.splice(0)) rmSync(path, { recursive: true, force: true });
}
