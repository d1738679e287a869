import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { DIALECTS } from '../../src/skill/index.ts';
import { run } from '../fake-io.ts';
import { tempDirectory, writeFiles } from '../temp.ts';

const FILES = {
  'word-count/SKILL.md':
    '---\nname: word-count\nversion: 1.10.0\ndescription: Counts.\nlang: bash\ntimeout: 90s\nmine: [1]\n---\n\nRun.\n',
  'word-count/scripts/main.sh*': '#!/bin/sh\necho\n',
  'word-count/assets/logo.bin': Buffer.from([0, 1, 2, 255]),
};

describe('skill convert', () => {
  test('X-07 writes the skill, names what is lost, and lints the result', async () => {
    const cwd = writeFiles(tempDirectory(), FILES);
    const { code, out, err } = await run(
      ['skill', 'convert', 'word-count', '--to', 'agent-skills', '-o', 'out/word-count'],
      { cwd },
    );
    expect([code, err]).toEqual([0, '']);
    expect(out).toContain('✔ out/word-count (skillbox → agent-skills, 3 files)\n  5 fields read differently now:\n');
    expect(out).toContain('  needs.limits.timeoutMs  90s\n');
    expect(out).toContain('(kept as metadata.timeout)\n');
    expect(out).toMatch(/lint: 1 note\n$/);
    const result = join(cwd, 'out/word-count');
    expect(readdirSync(result).sort()).toEqual(['SKILL.md', 'assets', 'scripts']);
    expect(statSync(join(result, 'scripts/main.sh')).mode & 0o111).not.toBe(0);
    expect(readFileSync(join(result, 'assets/logo.bin'))).toEqual(Buffer.from([0, 1, 2, 255]));
    expect(readFileSync(join(result, 'SKILL.md'), 'utf8')).toContain('\nmine:\n  - 1\n');
  });

  test('--json prints one document with the losses, the findings and the digest', async () => {
    const cwd = writeFiles(tempDirectory(), FILES);
    const { code, out } = await run(
      ['skill', 'convert', 'word-count', '--to', 'seksbot', '-o', 'word-count-2', '--json'],
      { cwd },
    );
    const report = JSON.parse(out);
    expect(code).toBe(0);
    expect(report).toMatchObject({
      path: join(cwd, 'word-count-2'),
      from: 'skillbox',
      to: 'seksbot',
      name: 'word-count',
      version: null,
      losses: [{ field: 'version', value: '1.10.0', why: expect.any(String), kept: 'extra.metadata.version' }],
      ok: true,
      source: { diagnostics: [{ code: 'field-unknown' }] },
    });
    expect(report.diagnostics.map(({ code: found }: { code: string }) => found)).toContain('capabilities-empty');
    expect(report.files).toContainEqual({ path: 'scripts/main.sh', source: 'copy' });
    const shown = JSON.parse((await run(['skill', 'show', 'word-count-2', '--json'], { cwd })).out);
    expect([shown.digest, shown.dialect]).toEqual([report.digest, 'seksbot']);
  });

  test.each(DIALECTS)('a zip is converted to %s as its folder is', async to => {
    const cwd = writeFiles(tempDirectory(), FILES);
    await run(['skill', 'package', 'word-count', '-o', 'w.zip'], { cwd });
    const convert = (from: string, out: string) =>
      run(['skill', 'convert', from, '--to', to, '-o', out, '--json'], { cwd });
    const [zip, folder] = [await convert('w.zip', 'a/word-count'), await convert('word-count', 'b/word-count')];
    expect([zip.code, JSON.parse(zip.out).digest]).toEqual([folder.code, JSON.parse(folder.out).digest]);
  });

  test('SB-01 a result that does not lint is written, said so, and exit 3', async () => {
    const cwd = writeFiles(tempDirectory(), { 'a/SKILL.md': '---\nname: a\ndescription: Reads.\n---\n\nRead.\n' });
    const { code, out } = await run(['skill', 'convert', 'a', '--to', 'skillbox', '-o', 'out/a'], { cwd });
    expect([code, out]).toEqual([3, expect.stringContaining('[entrypoint-missing]')]);
    expect(existsSync(join(cwd, 'out/a/SKILL.md'))).toBe(true);
  });

  test('X-05 says when the source had to be repaired', async () => {
    const cwd = writeFiles(tempDirectory(), {
      'a/SKILL.md': '---\nname: a\ndescription: Use when: asked\n---\n\nRead.\n',
    });
    const { code, err } = await run(['skill', 'convert', 'a', '--to', 'workspace', '-o', 'out/a'], { cwd });
    expect([code, err]).toEqual([0, expect.stringContaining('read with 1 warning')]);
    expect(readFileSync(join(cwd, 'out/a/SKILL.md'), 'utf8')).toContain('description: "Use when: asked"\n');
  });

  test('refuses what is already there, what does not load, and what is not asked for properly', async () => {
    const cwd = writeFiles(tempDirectory(), { ...FILES, 'broken/SKILL.md': '---\nname: broken\n---\n' });
    const convert = (...words: string[]) => run(['skill', 'convert', ...words], { cwd });
    expect((await convert('word-count', '--to', 'seksbot', '-o', 'broken')).code).toBe(2);
    expect(await convert('broken', '--to', 'seksbot', '-o', 'x')).toMatchObject({
      code: 3,
      err: expect.stringContaining('[description-missing]'),
    });
    expect(await convert('word-count', '-o', 'x')).toMatchObject({
      code: 2,
      err: expect.stringContaining('--to is missing'),
    });
    expect(await convert('word-count', '--to', 'seksbot')).toMatchObject({
      code: 2,
      err: expect.stringContaining('-o is missing'),
    });
    expect((await convert('none', '--to', 'seksbot', '-o', 'x')).code).toBe(5);
    expect(JSON.parse((await convert('broken', '--to', 'seksbot', '-o', 'x', '--json')).out)).toMatchObject({
      error: 'INVALID_SKILL',
    });
    expect(readdirSync(cwd).sort()).toEqual(['broken', 'word-count']);
  });

  test('X-10 a .skillboxignore that would leave out what was written is refused, and nothing is left behind', async () => {
    const cwd = writeFiles(tempDirectory(), {
      'a/SKILL.md': '---\nname: a\ndescription: Reads.\n---\n\nRead.\n',
      'a/.skillboxignore': '*.sh\n',
    });
    const { code, err } = await run(['skill', 'convert', 'a', '--to', 'gibberish', '-o', 'out/a'], { cwd });
    expect([code, err]).toEqual([3, expect.stringContaining('scripts/tool-instructions.sh would be left out')]);
    expect(readdirSync(join(cwd, 'out'))).toEqual([]);
  });

  test('--dialect says how the source is read', async () => {
    const cwd = writeFiles(tempDirectory(), {
      'a/SKILL.md': '---\nname: a\ndescription: Reads.\ntags: x\n---\n\nRead.\n',
    });
    const words = ['skill', 'convert', 'a', '--dialect', 'agent-skills', '--to', 'seksbot', '-o', 'out/a', '--json'];
    expect(JSON.parse((await run(words, { cwd })).out)).toMatchObject({ from: 'agent-skills', losses: [] });
  });
});
