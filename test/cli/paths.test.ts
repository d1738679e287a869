import { mkdirSync, readFileSync, realpathSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { run as runWords } from '../fake-io.ts';
import { NO_SANDBOX } from '../support/skillbox.ts';
import { tempDir, tidy } from '../support/temp.ts';
import { writeFiles } from '../temp.ts';

tidy();

describe.skipIf(NO_SANDBOX)('skillbox run --path', () => {
  let cwd: string;
  let env: Record<string, string>;
  beforeEach(() => {
    cwd = realpathSync(tempDir('paths', 0o755));
    env = { SKILLBOX_DATA_DIR: join(tempDir('data'), 'data'), PATH: process.env.PATH ?? '' };
    writeFiles(cwd, {
      'work/.env': 'TOKEN=x\n',
      'work/.envrc': 'export A\n',
      'work/.vscode/tasks.json': '{}\n',
      'notes/a.txt': 'note\n',
      'notes/.env': 'TOKEN=y\n',
    });
  });
  const script = (body: string) =>
    writeFiles(tempDir('skill', 0o755), {
      'SKILL.md': '---\nname: probe\ndescription: made for a test\ntags: test\n---\nbody\n',
      'scripts/show.sh': body,
    });
  const run = (...words: string[]) => runWords(words, { cwd, env, own: true });
  const SHOW =
    'cat .env .envrc 2>&1; for f in .env .envrc .vscode/tasks.json; do (echo changed >> $f) 2>/dev/null && echo "wrote $f"; done; cat "$@" 2>&1; true\n';
  const logsOf = async (...words: string[]) => {
    const { out } = await run('run', script(SHOW), '--workspace', 'work', '--yes', '--json', ...words);
    const result = JSON.parse(out);
    expect(result.error).toBeNull();
    return result.logs.replaceAll(cwd, '').replaceAll(/^cat: (\S+): .*$/gm, 'no $1') as string;
  };

  test('without one nothing is shown or changed', async () => {
    expect(await logsOf('--', join(cwd, 'notes/a.txt'))).toBe('no .env\nno .envrc\nno /notes/a.txt\n');
  });

  test('WS-10 what is hidden is read, what is protected is written, each when it is given, and nothing beside it', async () => {
    expect(await logsOf('--path', 'work/.env')).toBe('TOKEN=x\nno .envrc\n');
    expect(await logsOf('--path', 'work/.envrc')).toBe('no .env\nexport A\n');
    expect(await logsOf('--path', 'work/.vscode:rw')).toBe('no .env\nno .envrc\nwrote .vscode/tasks.json\n');
    expect(await logsOf('--path', 'work/.env:rw')).toBe('TOKEN=x\nno .envrc\nwrote .env\n');
    expect(readFileSync(join(cwd, 'work/.env'), 'utf8')).toBe('TOKEN=x\nchanged\n');
  });

  test('GB-11 one elsewhere lies where it lies, its secrets do not', async () => {
    const files = [join(cwd, 'notes/a.txt'), join(cwd, 'notes/.env')];
    expect(await logsOf('--path', 'notes', '--', ...files)).toBe('no .env\nno .envrc\nnote\nno /notes/.env\n');
    expect(await logsOf('--path', 'notes', '--path', 'notes/.env', '--', ...files)).toContain('note\nTOKEN=y\n');
  });

  test('every run of it is asked about, and the answer is for these paths', async () => {
    const skill = script(SHOW);
    const words = ['run', skill, '--workspace', 'work', '--path', 'notes', '--json'];
    const { code, out } = await run(...words);
    expect(code).toBe(4);
    const { execution_id: id } = JSON.parse(out);
    const shown = await run('approve', 'show', id);
    expect(shown.out).toContain(`It reads ${join(cwd, 'notes')}.`);
    // What comes to lie there instead is not what was asked about.
    renameSync(join(cwd, 'notes'), join(cwd, 'aside'));
    mkdirSync(join(cwd, 'secret'));
    symlinkSync('secret', join(cwd, 'notes'));
    const swapped = await run('approve', 'allow', id, '--json');
    expect([swapped.code, swapped.out + swapped.err]).toEqual([4, expect.stringContaining('not what was asked')]);
    rmSync(join(cwd, 'notes'));
    renameSync(join(cwd, 'aside'), join(cwd, 'notes'));
    const again = JSON.parse((await run(...words)).out).execution_id;
    const allowed = await run('approve', 'allow', again, '--json');
    expect([allowed.code, JSON.parse(allowed.out).status]).toEqual([0, 'success']);
  });

  test('a mistake is told before anything is asked', async () => {
    const skill = script(SHOW);
    for (const [word, code, message] of [
      ['nowhere', 5, 'there is no'],
      [':rw', 2, 'names nothing'],
      ['', 2, ''],
      ['/etc/hostname', 2, 'is part of the system'],
      ['work', 2, 'is the workspace'],
      ['/usr/bin/env', 2, "is the sandbox's own"],
      ['/usr/share/doc:rw', 2, "is the sandbox's own"],
    ] as const) {
      const told = await run('run', skill, '--workspace', 'work', '--path', word);
      expect([told.code, told.err], word).toEqual([code, expect.stringContaining(message)]);
    }
  });

  test('--dry-run shows it', async () => {
    const told = await run('run', script(SHOW), '--workspace', 'work', '--path', 'notes:rw', '--dry-run');
    expect(told.out).toContain(`${join(cwd, 'notes')} (bind, writable)`);
    expect(told.out).toContain(`It writes ${join(cwd, 'notes')}.`);
  });
});
