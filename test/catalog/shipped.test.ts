import { chmodSync, cpSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readShipped } from '../../scripts/shipped.mjs';
import { findSkills } from '../../src/catalog/index.ts';
import { type Shipped, shippedSummary } from '../../src/catalog/shipped.ts';
import { summarise } from '../../src/dialects/index.ts';
import { openDirectory } from '../../src/skill/index.ts';
import { tempDirectory } from '../temp.ts';

const root = join(import.meta.dirname, '../..');
const examples = findSkills(join(root, 'examples'));
const shipped: Shipped = await readShipped(root);

function summaryOf(path: string) {
  const folder = openDirectory(path);
  try {
    return { shipped: shippedSummary(folder, shipped), read: summarise(folder) };
  } finally {
    folder.close();
  }
}

describe('X-01 what the build read of the skills that ship with Skillbox', () => {
  test('is what the whole reader says', () => {
    expect(examples.length).toBeGreaterThan(5);
    for (const path of examples) {
      const { shipped: known, read } = summaryOf(path);
      expect({ summary: known }).toEqual(read);
    }
  });

  test('stands for no other files: another byte, name, file or right to execute', () => {
    const changes: Record<string, (path: string) => void> = {
      none: () => {},
      'a byte': path => swapByte(join(path, 'SKILL.md')),
      'a file': path => writeFileSync(join(path, 'more.md'), ''),
      'a right': path => chmodSync(join(path, 'SKILL.md'), 0o755),
    };
    const gibberish = examples.find(path => dirname(path).endsWith('gibberish')) ?? '';
    const isKnown = (change: (path: string) => void, name = basename(gibberish)) => {
      const copy = join(tempDirectory(), name);
      cpSync(gibberish, copy, { recursive: true });
      change(copy);
      return summaryOf(copy).shipped !== null;
    };
    const known = Object.entries(changes).filter(([, change]) => isKnown(change));
    expect(known.map(([what]) => what)).toEqual(['none']);
    expect(isKnown(() => {}, 'renamed')).toBe(false);
  });

  test('and where nothing was read before there is nothing', () => {
    const folder = openDirectory(examples[0] ?? '');
    expect([shippedSummary(folder), shippedSummary(folder, {})]).toEqual([null, null]);
    folder.close();
  });
});

function swapByte(path: string): void {
  const bytes = readFileSync(path);
  bytes[bytes.length - 2] = (bytes.at(-2) ?? 0) === 0x61 ? 0x62 : 0x61;
  writeFileSync(path, bytes);
}
