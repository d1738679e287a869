import { renameSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { openArchive } from '../../src/skill/index.ts';
import { makeZip } from './make-zip.ts';
import { collect, refusal, scratch, tick } from './scratch.ts';

describe('X-10 an archive that changes after it was opened', () => {
  test('is refused when it is written in place, even with a right CRC', async () => {
    const path = `${scratch()}/a.zip`;
    writeFileSync(path, makeZip([{ name: 'SKILL.md', content: 'first' }]));
    await tick();
    const folder = await openArchive(path);
    writeFileSync(path, makeZip([{ name: 'SKILL.md', content: 'other' }]));
    await refusal(() => folder.read('SKILL.md', 10), 'SKILL_CHANGED');
    await refusal(() => collect(folder.stream('SKILL.md')), 'SKILL_CHANGED');
    writeFileSync(path, '');
    await refusal(() => folder.read('SKILL.md', 10), 'SKILL_CHANGED');
    folder.close();
  });

  test('never gives the content of another file that got its name', async () => {
    const base = scratch();
    writeFileSync(`${base}/a.zip`, makeZip([{ name: 'SKILL.md', content: 'first' }]));
    writeFileSync(`${base}/b.zip`, makeZip([{ name: 'SKILL.md', content: 'other' }]));
    const folder = await openArchive(`${base}/a.zip`);
    renameSync(`${base}/b.zip`, `${base}/a.zip`);
    await refusal(() => folder.read('SKILL.md', 10), 'SKILL_CHANGED');
    folder.close();
  });

  test('is not read after it was closed, when its descriptor may be another file', async () => {
    const path = `${scratch()}/a.zip`;
    writeFileSync(path, makeZip([{ name: 'SKILL.md', content: Buffer.alloc(300_000, 'x'), method: 8 }]));
    const folder = await openArchive(path);
    const stream = folder.stream('SKILL.md')[Symbol.asyncIterator]();
    await stream.next();
    folder.close();
    folder.close();
    await refusal(() => folder.read('SKILL.md', 1_000_000), 'INTERNAL');
    await refusal(async () => {
      while ((await stream.next()).done !== true);
    }, 'INTERNAL');
  });

  test('answers like a folder to what is not there or too large', async () => {
    const path = `${scratch()}/a.zip`;
    writeFileSync(path, makeZip([{ name: 'SKILL.md', content: 'first' }]));
    const folder = await openArchive(path);
    await refusal(() => folder.read('none', 10), 'NOT_FOUND');
    await refusal(() => folder.read('SKILL.md', 4), 'INVALID_SKILL');
    expect([folder.file('SKILL.md')?.size, folder.file('none'), folder.origin]).toEqual([
      5,
      null,
      { kind: 'archive', path },
    ]);
    folder.close();
  });
});
