import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { DIALECTS } from '../../src/skill/index.ts';
import { run } from '../fake-io.ts';
import { tempDirectory, writeFiles } from '../temp.ts';

describe('skill init', () => {
  test.each(DIALECTS)('writes a %s skill that lints clean, strictly', async dialect => {
    const cwd = tempDirectory();
    const { code, out, err } = await run(['skill', 'init', 'word-count', '--dialect', dialect], { cwd });
    expect([code, out, err]).toEqual([
      0,
      expect.stringContaining(`word-count (${dialect})`),
      'Next: skillbox skill show word-count\n',
    ]);
    expect(readdirSync(cwd)).toEqual(['word-count']);
    const linted = JSON.parse((await run(['skill', 'lint', 'word-count', '--strict', '--json'], { cwd })).out);
    expect(linted.skills).toEqual([
      expect.objectContaining({ dialect, name: 'word-count', ok: true, diagnostics: [] }),
    ]);
  });

  test('takes a description and a directory, which is made', async () => {
    const cwd = tempDirectory();
    const words = ['skill', 'init', 'a-b', '--description', 'Says: hello.', '--dir', 'my/skills', '--json'];
    const { code, out } = await run(words, { cwd });
    const path = join(cwd, 'my/skills/a-b');
    expect([code, JSON.parse(out)]).toEqual([
      0,
      { path, name: 'a-b', dialect: 'agent-skills', files: expect.arrayContaining(['SKILL.md']) },
    ]);
    expect(readFileSync(join(path, 'SKILL.md'), 'utf8')).toContain('description: "Says: hello."\n');
    expect(statSync(join(path, 'scripts/count.py')).mode & 0o111).not.toBe(0);
    expect(statSync(join(path, 'SKILL.md')).mode & 0o111).toBe(0);
  });

  test('a directory that cannot be made ends with a sentence, not never', async () => {
    for (const directory of ['/proc/nope', '/dev/null/below']) {
      const { code, err } = await run(['skill', 'init', 'a-b', '--dir', directory], { cwd: tempDirectory() });
      expect([code, err]).toEqual([1, expect.stringContaining(`cannot write ${directory}/a-b: E`)]);
    }
  });

  test('AS-02 refuses a bad name and suggests a good one', async () => {
    const cwd = tempDirectory();
    const { code, err } = await run(['skill', 'init', 'Word Count'], { cwd });
    expect([code, err]).toEqual([2, expect.stringContaining('try word-count')]);
    expect((await run(['skill', 'init', '../x'], { cwd })).code).toBe(2);
    expect(readdirSync(cwd)).toEqual([]);
  });

  test('refuses whatever is already there, and leaves it alone', async () => {
    const cwd = writeFiles(tempDirectory(), { file: 'mine' });
    mkdirSync(join(cwd, 'folder'));
    symlinkSync('nowhere', join(cwd, 'link'));
    for (const name of ['file', 'folder', 'link']) {
      const { code, err } = await run(['skill', 'init', name], { cwd });
      expect([code, err]).toEqual([2, expect.stringContaining('is already there')]);
    }
    expect(readdirSync(cwd).sort()).toEqual(['file', 'folder', 'link']);
    expect([readdirSync(join(cwd, 'folder')), existsSync(join(cwd, 'link'))]).toEqual([[], false]);
  });

  test('leaves nothing behind when the description would not lint', async () => {
    const cwd = tempDirectory();
    const { code, err } = await run(['skill', 'init', 'a', '--description', 'hidden \u202e text'], { cwd });
    expect([code, err]).toEqual([2, expect.stringContaining('would not lint clean')]);
    expect(readdirSync(cwd)).toEqual([]);
  });

  test('a directory that cannot be written to is said so', async () => {
    const cwd = writeFiles(tempDirectory(), { file: 'mine' });
    const { code, err } = await run(['skill', 'init', 'a', '--dir', 'file/inner'], { cwd });
    expect([code, err]).toEqual([1, expect.stringContaining('ENOTDIR')]);
  });

  test('asks on a terminal, again after an answer that will not do', async () => {
    const cwd = tempDirectory();
    const answers = ['My Skill', 'my-skill', 'skillbocks', 'skillbox', 'Does things.'];
    const { code, err } = await run(['skill', 'init'], { cwd, answers });
    expect(code).toBe(0);
    expect(err).toContain('try my-skill');
    expect(err).toContain('"skillbocks" is none of them');
    const text = readFileSync(join(cwd, 'my-skill/SKILL.md'), 'utf8');
    expect(text).toMatch(/^---\nname: my-skill\nversion: 0\.1\.0\ndescription: Does things\.\nlang: python\n/);
  });

  test('asks only for what was not given', async () => {
    const cwd = tempDirectory();
    const { code } = await run(['skill', 'init', '--dialect', 'seksbot'], {
      cwd,
      answers: ['weather', 'Tells the weather.'],
    });
    expect([code, readdirSync(join(cwd, 'weather')).sort()]).toEqual([0, ['SKILL.md', 'index.js', 'skill.yaml']]);
  });

  test('without a terminal, or for a program, a missing name is a usage error', async () => {
    const cwd = tempDirectory();
    expect(await run(['skill', 'init'], { cwd })).toMatchObject({
      code: 2,
      err: expect.stringContaining('NAME is missing'),
    });
    expect(await run(['skill', 'init', '--json'], { cwd, answers: ['a'] })).toMatchObject({ code: 2 });
  });
});
