import { spawnSync } from 'node:child_process';
import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openFolder } from '../../src/skill/index.ts';
import { makeZip } from './make-zip.ts';
import { paths, plant, refusal, scratch } from './scratch.ts';

test('SB-01 a skill is opened by its folder, its SKILL.md, a link to it, or a zip of any name', async () => {
  const base = scratch();
  const root = plant(`${base}/demo`, { 'SKILL.md': 'x', a: '' });
  const zip = makeZip([{ name: 'SKILL.md', content: 'x' }, { name: 'a' }]);
  for (const name of ['demo.zip', 'demo.skill', 'download']) writeFileSync(join(base, name), zip);
  symlinkSync('demo', join(base, 'alias'));
  for (const path of [
    root,
    `${root}/SKILL.md`,
    `${base}/alias`,
    `${base}/demo.zip`,
    `${base}/demo.skill`,
    `${base}/download`,
  ]) {
    const folder = await openFolder(path);
    expect(paths(folder)).toEqual(['SKILL.md', 'a']);
    folder.close();
  }
  expect((await openFolder(`${base}/alias/SKILL.md`)).name).toBe('alias');
  expect(paths(await openFolder(plant(`${base}/low`, { 'skill.md': '' }).concat('/skill.md')))).toEqual(['skill.md']);
});

test('X-02 anything else is refused with a hint', async () => {
  const base = plant(scratch(), { 'a.zip': 'this is no zip', 'notes.md': '', 'empty.zip': '' });
  expect(spawnSync('mkfifo', [`${base}/pipe`]).status).toBe(0);
  expect((await refusal(() => openFolder(`${base}/none`), 'NOT_FOUND')).hint).toContain('SKILL.md');
  await refusal(() => openFolder(`${base}/notes.md/below`), 'NOT_FOUND');
  await refusal(() => openFolder(`${base}/${'x'.repeat(300)}`), 'NOT_FOUND');
  for (const name of ['a.zip', 'notes.md', 'empty.zip', 'pipe']) {
    expect((await refusal(() => openFolder(join(base, name)), 'NOT_A_SKILL')).hint).toContain('SKILL.md');
  }
  expect((await refusal(() => openFolder('none\x1b[31m\nthere'))).message).not.toMatch(/[\x1b\n]/);
});
