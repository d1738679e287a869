import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { run } from '../fake-io.ts';
import { tempDirectory, writeFiles } from '../temp.ts';

const FILES = {
  'demo/SKILL.md': '---\nname: demo\nversion: 1.2.0\ndescription: Shows.\nlang: bash\n---\n\nRun it.\n',
  'demo/scripts/main.sh*': '#!/bin/sh\necho ok\n',
};

describe('skill package', () => {
  test('SB-12 writes NAME-VERSION.zip and prints path, size and digest', async () => {
    const cwd = writeFiles(tempDirectory(), FILES);
    const { code, out } = await run(['skill', 'package', 'demo'], { cwd });
    expect(code).toBe(0);
    expect(out).toMatch(/demo-1\.2\.0\.zip\n {2}2 files, .*\n {2}sb1-sha256:[0-9a-f]{64}\n$/);
    expect(readdirSync(cwd).sort()).toEqual(['demo', 'demo-1.2.0.zip']);
  });

  test('SB-12 the same content gives the same bytes, and the zip has the digest of the folder', async () => {
    const cwd = writeFiles(tempDirectory(), FILES);
    const first = JSON.parse((await run(['skill', 'package', 'demo', '-o', 'one.zip', '--json'], { cwd })).out);
    const again = JSON.parse((await run(['skill', 'package', 'one.zip', '-o', 'two.zip', '--json'], { cwd })).out);
    expect(readFileSync(join(cwd, 'two.zip')).equals(readFileSync(join(cwd, 'one.zip')))).toBe(true);
    expect(again.digest).toBe(first.digest);
    const linted = JSON.parse((await run(['skill', 'lint', 'demo', 'one.zip', '--json'], { cwd })).out);
    expect(linted.skills.map((skill: { digest: string }) => skill.digest)).toEqual([first.digest, first.digest]);
  });

  test('SB-12 .env and .git stay out; .env is refused', async () => {
    const cwd = writeFiles(tempDirectory(), { ...FILES, 'demo/.git/config': 'x', 'demo/node_modules/a/index.js': 'x' });
    const { out } = await run(['skill', 'package', 'demo', '--json'], { cwd });
    expect(JSON.parse(out).files).toBe(2);
    writeFiles(cwd, { 'demo/.env': 'TOKEN=x' });
    const refused = await run(['skill', 'package', 'demo'], { cwd });
    expect([refused.code, refused.err]).toEqual([3, expect.stringContaining('[folder-secret-file]')]);
  });

  test('X-12 without a version it asks for one and names the place', async () => {
    const text = '---\nname: demo\ndescription: Shows.\n---\n\nRead.\n';
    const cwd = writeFiles(tempDirectory(), { 'demo/SKILL.md': text });
    const { code, err } = await run(['skill', 'package', 'demo'], { cwd });
    expect([code, err]).toEqual([3, expect.stringContaining('write it as metadata.version in SKILL.md')]);
    expect((await run(['skill', 'package', 'demo', '--version', '1.0.0'], { cwd })).code).toBe(0);
    expect((await run(['skill', 'package', 'demo', '--version', 'one'], { cwd })).code).toBe(2);
    expect(readdirSync(cwd).sort()).toEqual(['demo', 'demo-1.0.0.zip']);
  });

  test('an invalid skill is not packed and nothing is written', async () => {
    const cwd = writeFiles(tempDirectory(), { 'demo/SKILL.md': '---\nname: demo\n---\n' });
    expect((await run(['skill', 'package', 'demo'], { cwd })).code).toBe(3);
    expect(readdirSync(cwd)).toEqual(['demo']);
  });
});
