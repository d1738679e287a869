import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createBubblewrap, GUARANTEES } from '../src/sandbox/index.ts';
import { BUBBLEWRAPS, optionsFor } from './support/drivers.ts';
import { tempDir, tidy } from './support/temp.ts';

tidy();
const root = join(import.meta.dirname, '..');
const text = readFileSync(join(root, 'SECURITY.md'), 'utf8');
const rows = text
  .split('\n')
  .filter(line => line.startsWith('| '))
  .map(line =>
    line
      .split('|')
      .map(cell => cell.trim())
      .slice(1, -1),
  );

describe('SECURITY.md', () => {
  test('every test that it names exists', () => {
    const named = [...text.matchAll(/`(test\/[\w/.-]+)`/g)].map(match => match[1] ?? '');
    expect(named.length).toBeGreaterThan(10);
    expect(named.filter(path => !existsSync(join(root, path)))).toEqual([]);
  });

  test('the table has every guarantee', () => {
    const names = rows.map(([name]) => name ?? '');
    expect(GUARANTEES.filter(guarantee => !names.includes(guarantee))).toEqual([]);
  });

  test.skipIf(process.getuid?.() !== 0 || BUBBLEWRAPS[0]?.skip !== null)(
    'the column for root is what this host holds',
    async () => {
      const sandbox = createBubblewrap(optionsFor(tempDir('security')));
      const problems = await sandbox.check();
      // A host without cgroups holds less, and says so itself.
      if (problems.length > 0) return;
      for (const guarantee of GUARANTEES) {
        expect([guarantee, rows.find(([name]) => name === guarantee)?.[1]]).toEqual([
          guarantee,
          sandbox.enforces.get(guarantee),
        ]);
      }
    },
  );
});
