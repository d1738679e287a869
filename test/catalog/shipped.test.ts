import {
  appendFileSync,
  chmodSync,
  cpSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
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

describe('X-01 what the build read of the skills that ship with Skillbox', () => {
  test('is what the whole reader says', () => {
    expect(examples.length).toBeGreaterThan(5);
    for (const path of examples) {
      const folder = openDirectory(path);
      expect({ summary: shippedSummary(path, shipped) }).toEqual(summarise(folder));
      folder.close();
    }
  });

  test('stands for no other files: another byte, name, file, folder, link or right to execute', () => {
    const changes: Record<string, (path: string) => void> = {
      none: () => {},
      'a byte': path => swapByte(join(path, 'SKILL.md')),
      'a longer file': path => appendFileSync(join(path, 'SKILL.md'), ' '),
      'a file': path => writeFileSync(join(path, 'more.md'), ''),
      'a hidden file': path => writeFileSync(join(path, '.more'), ''),
      'a file below': path => writeFileSync(join(path, 'scripts/more.md'), ''),
      'a folder': path => mkdirSync(join(path, 'more')),
      'a missing file': path => rmSync(join(path, 'scripts/count-lines.sh')),
      'a missing folder': path => rmSync(join(path, 'scripts'), { recursive: true }),
      'a linked file': path => swapForLink(path, 'SKILL.md'),
      'a linked folder': path => swapForLink(path, 'scripts'),
      'a right': path => chmodSync(join(path, 'SKILL.md'), 0o755),
    };
    const gibberish = join(root, 'examples/gibberish/text-tools');
    const isKnown = (change: (path: string) => void, name = basename(gibberish)) => {
      const copy = join(tempDirectory(), name);
      cpSync(gibberish, copy, { recursive: true });
      change(copy);
      return shippedSummary(copy, shipped) !== null;
    };
    const known = Object.entries(changes).filter(([, change]) => isKnown(change));
    expect(known.map(([what]) => what)).toEqual(['none']);
    expect(isKnown(() => {}, 'renamed')).toBe(false);
  });

  test('and where nothing was read before there is nothing', () => {
    const [path = ''] = examples;
    expect([shippedSummary(path), shippedSummary(path, {})]).toEqual([null, null]);
  });
});

/** The same files, but not in it. */
function swapForLink(path: string, name: string): void {
  const aside = join(tempDirectory(), name);
  renameSync(join(path, name), aside);
  symlinkSync(aside, join(path, name));
}

function swapByte(path: string): void {
  const bytes = readFileSync(path);
  bytes[bytes.length - 2] = (bytes.at(-2) ?? 0) === 0x61 ? 0x62 : 0x61;
  writeFileSync(path, bytes);
}
