import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import matter from 'gray-matter';
import { extract } from 'tar-stream';
import { expect, test } from 'vitest';
import { findSkills } from '../src/catalog/index.ts';
import { readSkill } from '../src/dialects/index.ts';
import { openDirectory } from '../src/skill/index.ts';
import { tempDirectory } from './temp.ts';

/** Public skills that are not ours to keep: an archive beside the repository, or where SKILLBOX_CORPUS says. */
const archive = process.env.SKILLBOX_CORPUS ?? join(import.meta.dirname, '../../shared/corpus.tar.gz');

test.skipIf(!existsSync(archive))(
  'X-05 X-06 public skills load, with the names and descriptions that other readers give',
  async () => {
    const root = tempDirectory();
    await unpack(archive, root);
    const skills = findSkills(root);
    expect(skills.length).toBeGreaterThan(1000);
    const notLoaded: string[] = [];
    const different: string[] = [];
    for (const path of skills) {
      const { skill, diagnostics } = readSkill(openDirectory(path), { mode: 'lenient', dialect: null });
      if (skill === null) {
        if (!diagnostics.some(({ code }) => code === 'frontmatter-missing')) notLoaded.push(path);
        continue;
      }
      const other = readOther(join(path, 'SKILL.md'));
      for (const key of ['name', 'description'] as const) {
        if (typeof other?.[key] === 'string' && other[key].trim() !== skill[key]) different.push(`${path}: ${key}`);
      }
    }
    expect(notLoaded.length / skills.length).toBeLessThanOrEqual(0.005);
    expect(different).toEqual([]);
  },
);

function readOther(path: string): Record<string, unknown> | null {
  try {
    return matter(readFileSync(path, 'utf8'), {}).data;
  } catch {
    return null; // it does not read the file at all, so there is nothing to compare
  }
}

async function unpack(path: string, root: string): Promise<void> {
  const tar = extract();
  tar.on('entry', (header, stream, next) => {
    const chunks: Buffer[] = [];
    stream.on('data', chunk => chunks.push(chunk as Buffer));
    stream.on('end', () => {
      if (header.type === 'file' && !header.name.includes('..')) {
        const target = join(root, header.name);
        mkdirSync(dirname(target), { recursive: true });
        writeFileSync(target, Buffer.concat(chunks));
      }
      next();
    });
  });
  await pipeline(Readable.from(readFileSync(path)), createGunzip(), tar);
}
