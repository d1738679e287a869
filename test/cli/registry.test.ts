import { mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { digestFolder, openArchive } from '../../src/skill/index.ts';
import { run } from '../fake-io.ts';
import { tempDir, tidy } from '../support/temp.ts';
import { writeFiles } from '../temp.ts';

tidy();

function ground() {
  const at = tempDir('cli-registry');
  const env = { HOME: join(at, 'home'), SKILLBOX_DATA_DIR: join(at, 'data') };
  const work = join(at, 'work');
  mkdirSync(work);
  mkdirSync(env.HOME);
  const skill = (version: string, code = 'true') =>
    writeFiles(join(work, `v${version}`, 'tally'), {
      'SKILL.md': `---\nname: tally\nversion: ${version}\ndescription: Counts words. Use when asked.\nlang: bash\n---\n\nRun it.\n`,
      'scripts/main.sh': code,
    });
  const cli = (...words: string[]) => run(words, { cwd: work, env });
  const json = async (...words: string[]) => {
    const { code, out } = await cli(...words, '--json');
    return { code, ...JSON.parse(out) };
  };
  return { at, env, work, skill, cli, json };
}

describe('skill push and its kin', () => {
  test('a folder is packed and published; the same again is no fault, another is', async () => {
    const { work, skill, cli, json, at } = ground();
    const folder = skill('1.0.0');
    const first = await json('skill', 'push', folder, '--tag', 'stable');
    expect(first).toMatchObject({ code: 0, created: true, name: 'tally', version: '1.0.0', tags: ['stable'] });
    const again = await cli('skill', 'push', folder);
    expect([again.code, again.out]).toEqual([0, expect.stringContaining('was there already')]);
    writeFiles(folder, { 'scripts/main.sh': 'echo 2' });
    const other = await json('skill', 'push', folder);
    expect(other).toMatchObject({ code: 3, error: 'VERSION_EXISTS' });
    expect(readdirSync(join(at, 'data/uploads'))).toEqual([]);
    expect(readdirSync(work)).toEqual(['v1.0.0']);
  });

  test('SB-13 a plain zip is published as it is, and comes back byte for byte', async () => {
    const { work, skill, cli, json } = ground();
    const folder = skill('1.0.0');
    const packed = join(work, 'a.zip');
    expect((await cli('skill', 'package', folder, '-o', packed)).code).toBe(0);
    expect((await json('skill', 'push', packed)).created).toBe(true);
    const { path, skill: got } = await json('skill', 'download', 'tally@^1');
    expect(path).toBe(join(work, 'tally-1.0.0.zip'));
    expect(readFileSync(path).equals(readFileSync(packed))).toBe(true);
    const archive = await openArchive(path);
    expect(await digestFolder(archive)).toBe(got.digest);
    archive.close();
  });

  test('what lint finds is shown, and what a folder would not give is not left out in silence', async () => {
    const { work, skill, cli } = ground();
    writeFiles(join(work, 'bad'), { 'SKILL.md': '---\nname: Bad\n---\n' });
    const bad = await cli('skill', 'push', 'bad');
    expect([bad.code, bad.err]).toEqual([3, expect.stringContaining('description-missing')]);
    const folder = skill('1.0.0');
    symlinkSync('/etc/passwd', join(folder, 'link'));
    const linked = await cli('skill', 'push', folder);
    expect([linked.code, linked.err]).toEqual([3, expect.stringContaining('folder-link-outside')]);
    expect((await cli('skill', 'list')).out).toBe('');
  });

  test('lists, versions, tags and yanks', async () => {
    const { skill, cli, json } = ground();
    for (const version of ['1.0.0', '1.1.0', '2.0.0-rc.1']) await cli('skill', 'push', skill(version));
    expect((await json('skill', 'list')).skills).toMatchObject([{ name: 'tally', version: '1.1.0' }]);
    expect((await cli('skill', 'list', '--query', 'words')).out).toContain('tally 1.1.0');
    expect((await cli('skill', 'list', '--query', 'nothing')).out).toBe('');
    expect((await cli('skill', 'tag', 'tally', 'stable', '1.0.0')).out).toBe('tally 1.0.0 is stable\n');
    expect((await json('skill', 'list', '--tag', 'stable')).skills).toMatchObject([{ version: '1.0.0' }]);
    expect((await cli('skill', 'yank', 'tally', '1.1.0', '--reason', 'wrong\u001b[2J')).code).toBe(0);
    const { out } = await cli('skill', 'versions', 'tally');
    expect(out.split('\n').map(line => line.trim().split(' ')[0])).toEqual(['2.0.0-rc.1', '1.1.0', '1.0.0', '']);
    expect(out).toContain('withdrawn: wrong<U+001B>[2J');
    expect((await json('skill', 'list')).skills).toMatchObject([{ version: '1.0.0' }]);
    expect((await cli('skill', 'yank', 'tally', '1.1.0', '--undo')).code).toBe(0);
    expect((await json('skill', 'list')).skills).toMatchObject([{ version: '1.1.0' }]);
    expect((await cli('skill', 'tag', 'tally', 'stable', '--remove')).code).toBe(0);
    expect(await json('skill', 'tag', 'tally', 'latest', '1.0.0')).toMatchObject({ code: 2, error: 'USAGE' });
    expect((await cli('skill', 'tag', 'tally', 'stable')).code).toBe(2);
    expect((await cli('skill', 'yank', 'tally', '9.9.9')).code).toBe(5);
    expect((await cli('skill', 'versions', '../x')).code).toBe(5);
  });

  test('what is meant for a server never happens on this machine', async () => {
    const { skill, cli, env } = ground();
    const words = ['skill', 'push', skill('1.0.0')];
    expect((await cli(...words, '--server', 'http://127.0.0.1:9')).code).toBe(7);
    expect((await run(words, { env: { ...env, SKILLBOX_SERVER_URL: 'http://127.0.0.1:9' } })).code).toBe(7);
    expect((await cli('skill', 'list')).out).toBe('');
  });
});

describe('run NAME@VERSION', () => {
  test('runs what is published, by version, range and tag; the result names version and digest', async () => {
    const { skill, cli, json } = ground();
    for (const version of ['1.0.0', '1.1.0'])
      await cli('skill', 'push', skill(version, `echo '"${version}"' > $SANDBOX_OUTPUT`));
    await cli('skill', 'tag', 'tally', 'old', '1.0.0');
    for (const [word, version] of [
      ['tally@1.0.0', '1.0.0'],
      ['tally@old', '1.0.0'],
      ['tally@^1', '1.1.0'],
      ['tally', '1.1.0'],
    ] as const) {
      const ran = await json('run', word, '--yes');
      expect(ran, word).toMatchObject({ status: 'success', output: version, skill: { name: 'tally', version } });
      const plan = await json('run', word, '--dry-run');
      expect(JSON.stringify(plan), word).toContain(ran.skill.digest);
    }
  });

  test('nobody vouches for what is published, and what is not there is said', async () => {
    const { skill, cli, json } = ground();
    await cli('skill', 'push', skill('1.0.0'));
    const asked = await json('run', 'tally@1.0.0');
    expect(asked.status).toBe('waiting');
    expect(asked.decision.trust).toBe('untrusted');
    // What waits is started from its own copy, whatever becomes of the version.
    await cli('skill', 'yank', 'tally', '1.0.0');
    const allowed = await json('approve', 'allow', asked.execution_id);
    expect(allowed).toMatchObject({ status: 'success', skill: asked.skill });
    expect((await cli('run', 'tally@2')).code).toBe(5);
    expect((await cli('run', 'nothing@1')).code).toBe(5);
    expect((await cli('run', 'nothing')).err).toContain('there is no skill "nothing"');
    expect((await cli('run', '@')).code).toBe(5);
  });
});
