import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type Ran, run } from '../fake-io.ts';
import { commit, git, repository, skillPath, skillText, urlOf } from '../support/git.ts';
import { tempDirectory, writeFiles } from '../temp.ts';

const base = tempDirectory();
let count = 0;

type Ground = { project: string; home: string; env: Record<string, string>; cli: (...words: string[]) => Promise<Ran> };

/** A project under git and a user who has two agents. */
function ground(): Ground {
  const at = join(base, String(++count));
  const [project, home] = [join(at, 'project'), join(at, 'home')];
  repository(project, { 'README.md': 'A project.\n' });
  for (const mark of ['.claude', '.codex']) mkdirSync(join(home, mark), { recursive: true });
  const env = { HOME: home, SKILLBOX_DATA_DIR: join(at, 'data'), SKILLBOX_CONFIG_DIR: join(at, 'config') };
  return { project, home, env, cli: (...words) => run(words, { cwd: project, env }) };
}

function collection(at: string, size = 20): string {
  const files: Record<string, string> = {};
  for (let index = 1; index <= size; index++) {
    files[`skills/tool-${index}/SKILL.md`] = skillText(`tool-${index}`);
    files[`skills/tool-${index}/scripts/go.py*`] = `print(${index})\n`;
  }
  return repository(at, files);
}

/** Every path below a directory with what it is, so that "nothing changed" can be seen. */
function picture(root: string): string[] {
  return readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter(path => !path.startsWith('.git'))
    .sort()
    .map(path => {
      const stats = lstatSync(join(root, path));
      if (stats.isSymbolicLink()) return `${path} -> ${readlinkSync(join(root, path))}`;
      return stats.isDirectory() ? `${path}/` : `${path} ${readFileSync(join(root, path), 'utf8')}`;
    });
}

describe('from a git repository with 20 skills', () => {
  test('verify where there is no lock is told, and is no all-clear', async () => {
    expect(await ground().cli('verify')).toMatchObject({ code: 5, err: expect.stringContaining('there is no') });
  });

  test('list where nothing was installed yet says so', async () => {
    const { cli } = ground();
    expect(await cli('list')).toMatchObject({ code: 0, err: 'No skill is installed here.\n' });
    expect(JSON.parse((await cli('list', '--global', '--json')).out)).toMatchObject({ scope: 'user', skills: [] });
  });

  test('add, lock, change the source, restore, tamper, verify, update, remove', async () => {
    const { project, cli, env } = ground();
    const source = collection(join(base, 'twenty'));
    const added = await cli('add', urlOf(source), '--all', '--yes');
    expect(added.err).toContain('For claude-code, codex.');
    expect(added.code).toBe(0);
    expect(added.out.trim().split('\n')).toHaveLength(20);
    expect(readlinkSync(join(project, '.claude/skills/tool-7'))).toBe('../../.skillbox/skills/tool-7');
    expect(readlinkSync(join(project, '.agents/skills/tool-7'))).toBe('../../.skillbox/skills/tool-7');
    expect(lstatSync(join(skillPath(project, 'tool-7'), 'scripts/go.py')).mode & 0o111).not.toBe(0);
    const lockText = readFileSync(join(project, 'skills.lock'), 'utf8');
    const lock = JSON.parse(lockText);
    expect(Object.keys(lock.skills)).toHaveLength(20);
    expect(lock.skills['tool-7']).toMatchObject({
      folder: 'skills/tool-7',
      source: { kind: 'git', url: urlOf(source), ref: null, commit: git(source, 'rev-parse', 'HEAD') },
      files: { 'SKILL.md': { sha256: expect.any(String) }, 'scripts/go.py': { executable: true } },
    });

    // Again: nothing to do.
    const before = picture(project);
    const again = await cli('add', urlOf(source), '--all', '--yes');
    expect(again).toMatchObject({ code: 0, err: expect.stringContaining('Everything is in place already.') });
    expect(picture(project)).toEqual(before);

    // The source moves on; a fresh clone of the project gets the old bytes.
    commit(source, { 'skills/tool-7/SKILL.md': skillText('tool-7', { body: 'Count backwards.' }) });
    for (const path of ['.skillbox', '.claude', '.agents']) rmSync(join(project, path), { recursive: true });
    const restored = await cli('install', '--frozen');
    expect(restored.code).toBe(0);
    expect(picture(project)).toEqual(before);
    expect(readFileSync(join(skillPath(project, 'tool-7'), 'SKILL.md'), 'utf8')).toContain('Count.');
    expect(readFileSync(join(project, 'skills.lock'), 'utf8')).toBe(lockText);

    // Somebody tampers with it.
    expect((await cli('verify')).code).toBe(0);
    writeFileSync(join(skillPath(project, 'tool-3'), 'scripts/go.py'), 'print(666)\n');
    writeFileSync(join(skillPath(project, 'tool-4'), 'extra.md'), 'more');
    const verified = await cli('verify');
    expect(verified.code).toBe(1);
    expect(verified.out).toContain('.skillbox/skills/tool-3/scripts/go.py was changed');
    expect(verified.out).toContain('.skillbox/skills/tool-4/extra.md was added');
    expect(verified.out.trim().split('\n')).toHaveLength(2);
    expect((await cli('install', '--frozen')).code).toBe(0);
    expect(picture(project)).toEqual(before);

    // The new bytes come with their difference, and only when somebody says yes.
    const outdated = await cli('outdated', '--json');
    expect(outdated.code).toBe(1);
    expect(JSON.parse(outdated.out).outdated).toMatchObject([{ name: 'tool-7' }]);
    const dry = await cli('update', '--dry-run');
    expect(dry.out).toContain('-Count.');
    expect(dry.out).toContain('+Count backwards.');
    expect(picture(project)).toEqual(before);
    expect((await run(['update'], { cwd: project, env, answers: ['n'] })).code).toBe(1);
    expect(picture(project)).toEqual(before);
    const updated = await run(['update'], { cwd: project, env, answers: ['y'] });
    expect(updated.err).toContain('asked again');
    expect(readFileSync(join(skillPath(project, 'tool-7'), 'SKILL.md'), 'utf8')).toContain('backwards');
    expect((await cli('outdated')).code).toBe(0);
    expect((await cli('verify')).code).toBe(0);

    const removed = await cli('remove', 'tool-7', '--yes');
    expect(removed.out).toBe('tool-7 is removed\n');
    expect(existsSync(skillPath(project, 'tool-7'))).toBe(false);
    expect(existsSync(join(project, '.claude/skills/tool-7'))).toBe(false);
    expect(JSON.parse((await cli('list', '--json')).out).skills).toHaveLength(19);
    expect((await cli('verify')).code).toBe(0);

    const heard = await cli('audit', 'list', '--json');
    expect(heard.out).toContain('skill.installed');
    expect(heard.out).toContain('skill.removed');
  });

  test('a skill that left its source stays, and the others are updated', async () => {
    const { project, cli } = ground();
    const source = collection(join(base, 'leaving'), 2);
    expect((await cli('add', urlOf(source), '--all', '--yes')).code).toBe(0);
    rmSync(join(source, 'skills/tool-1'), { recursive: true });
    commit(source, { 'skills/tool-2/SKILL.md': skillText('tool-2', { body: 'New.' }) });
    const updated = await cli('update', '--yes');
    expect(updated).toMatchObject({ code: 0, err: expect.stringContaining('tool-1 is no longer in its source') });
    expect(readFileSync(join(skillPath(project, 'tool-2'), 'SKILL.md'), 'utf8')).toContain('New.');
    expect(existsSync(skillPath(project, 'tool-1'))).toBe(true);
    expect((await cli('install', '--frozen')).code).toBe(0);
    expect((await cli('outdated')).err).toContain('Every other skill');
    expect(JSON.parse((await cli('outdated', '--json')).out)).toEqual({ outdated: [], gone: ['tool-1'] });
  });

  test('what its source does not have any more cannot be restored, and no update is promised', async () => {
    const { project, cli } = ground();
    const source = writeFiles(join(base, 'emptied'), {
      'one/SKILL.md': skillText('one'),
      'two/SKILL.md': skillText('two'),
    });
    expect((await cli('add', source, '--skill', 'one', '--yes')).code).toBe(0);
    expect((await cli('install')).err).toBe('1 skill is as skills.lock says.\n');
    rmSync(join(source, 'one'), { recursive: true });
    rmSync(skillPath(project, 'one'), { recursive: true });
    const { code, err } = await cli('install');
    expect([code, err]).toEqual([1, expect.stringContaining('skillbox remove one')]);
    expect(err).not.toContain('update');
  });

  test('a commit that is cut short is told how a commit is named', async () => {
    const { cli } = ground();
    const source = collection(join(base, 'shortened'), 1);
    const short = git(source, 'rev-parse', 'HEAD').slice(0, 8);
    expect((await cli('add', `${urlOf(source)}#${short}`, '--yes')).err).toContain('all its 40 digits');
  });

  test('install --frozen fails and changes nothing when the source has other bytes', async () => {
    const { project, cli } = ground();
    const source = writeFiles(join(base, 'plain'), { 'SKILL.md': skillText('plain') });
    expect((await cli('add', source, '--yes')).code).toBe(0);
    writeFileSync(join(source, 'SKILL.md'), skillText('plain', { body: 'Other.' }));
    rmSync(skillPath(project, 'plain'), { recursive: true });
    const before = picture(project);
    const ran = await cli('install', '--frozen', '--json');
    expect(JSON.parse(ran.out).error).toBe('LOCK_MISMATCH');
    expect(picture(project)).toEqual(before);
    expect(JSON.parse((await cli('install', '--frozen', '--global', '--json')).out).error).toBe('NOT_FOUND');
  });
});

describe('what is chosen, and what is asked', () => {
  test('several skills need a choice; a terminal offers a list', async () => {
    const { project, cli, env } = ground();
    const source = collection(join(base, 'three'), 3);
    const ran = await cli('add', urlOf(source), '--yes', '--json');
    expect(JSON.parse(ran.out)).toMatchObject({
      error: 'USAGE',
      message: expect.stringContaining('tool-1, tool-2, tool-3'),
    });
    expect(JSON.parse((await cli('add', urlOf(source), '--skill', 'nope', '--yes', '--json')).out).error).toBe(
      'NOT_FOUND',
    );
    const picked = await run(['add', urlOf(source)], { cwd: project, env, answers: ['1, tool-3, 1', 'y'] });
    expect(picked.code).toBe(0);
    expect(readdirSync(join(project, '.skillbox/skills'))).toEqual(['tool-1', 'tool-3']);
  });

  test('without a person only --yes is a yes, and no writes nothing', async () => {
    const { project, cli, env } = ground();
    const source = writeFiles(join(base, 'asked'), { 'SKILL.md': skillText('asked') });
    expect((await cli('add', source)).code).toBe(2);
    expect((await cli('add', source, '--json')).code).toBe(2);
    expect((await run(['add', source], { cwd: project, env, answers: [''] })).code).toBe(1);
    const dry = await cli('add', source, '--dry-run');
    expect(dry.err).toContain('not trusted by being installed here');
    expect(readdirSync(project).sort()).toEqual(['.git', 'README.md']);
  });

  test('for the user: said to be trusted, kept from agents, never by a project in the home directory', async () => {
    const { home, cli, env } = ground();
    const source = writeFiles(join(base, 'mine'), { 'SKILL.md': skillText('mine') });
    const ran = await cli('add', source, '--global', '--yes');
    expect(ran.err).toContain('Skillbox trusts them as yours');
    expect(existsSync(join(home, '.skillbox/skills.lock'))).toBe(true);
    expect(readlinkSync(join(home, '.claude/skills/mine'))).toBe('../../.skillbox/skills/mine');
    const agent = await run(['add', source, '--global', '--yes', '--json'], { env: { ...env, CLAUDECODE: '1' } });
    expect(JSON.parse(agent.out).error).toBe('ANSWER_REFUSED');
    const atHome = await run(['add', source, '--yes'], { cwd: home, env });
    expect(atHome).toMatchObject({ code: 2, err: expect.stringContaining('no project') });
    const inside = await run(['add', source, '--yes'], { cwd: join(home, '.skillbox/skills/mine'), env });
    expect(inside).toMatchObject({ code: 2, err: expect.stringContaining('no project') });
  });

  test('copies instead of links, chosen agents, a zip', async () => {
    const { project, cli } = ground();
    const folder = writeFiles(join(base, 'zipped'), { 'SKILL.md': skillText('zipped') });
    const zip = join(base, 'zipped.skill');
    expect((await run(['skill', 'package', folder, '--version', '1.0.0', '-o', zip])).code).toBe(0);
    const ran = await cli('add', zip, '--copy', '--agent', 'cursor', '--yes');
    expect(ran.code, ran.err).toBe(0);
    expect(lstatSync(join(project, '.agents/skills/zipped')).isDirectory()).toBe(true);
    expect(existsSync(join(project, '.claude'))).toBe(false);
    writeFileSync(join(project, '.agents/skills/zipped/SKILL.md'), 'other');
    expect((await cli('verify')).out).toContain('.agents/skills/zipped/SKILL.md was changed');
  });
});

describe('what is there already stays', () => {
  test("somebody's own skill, file or link is never overwritten", async () => {
    const { project, cli } = ground();
    const source = writeFiles(join(base, 'clash'), { 'SKILL.md': skillText('clash') });
    writeFiles(join(project, '.claude/skills/clash'), { 'SKILL.md': 'mine' });
    const before = picture(project);
    expect(JSON.parse((await cli('add', source, '--yes', '--json')).out).error).toBe('EXISTS');
    expect(picture(project)).toEqual(before);
  });

  test('a second source cannot take the place of an installed skill', async () => {
    const { project, cli } = ground();
    const first = writeFiles(join(base, 'first'), { 'SKILL.md': skillText('same-name') });
    const second = writeFiles(join(base, 'second'), { 'SKILL.md': skillText('same-name', { body: 'Evil.' }) });
    expect((await cli('add', first, '--yes')).code).toBe(0);
    const before = picture(project);
    expect(JSON.parse((await cli('add', second, '--yes', '--json')).out).error).toBe('EXISTS');
    expect(picture(project)).toEqual(before);
  });

  test('a project whose directory of skills is a link to somewhere else is not written to', async () => {
    const { project, home, cli } = ground();
    const source = writeFiles(join(base, 'linked'), { 'SKILL.md': skillText('linked') });
    symlinkSync(home, join(project, '.agents'));
    expect(JSON.parse((await cli('add', source, '--yes', '--json')).out).error).toBe('UNWRITABLE');
    rmSync(join(project, '.agents'));
    symlinkSync(join(home, '.skillbox'), join(project, '.skillbox'));
    mkdirSync(join(home, '.skillbox'));
    expect(JSON.parse((await cli('add', source, '--yes', '--json')).out).error).toBe('UNWRITABLE');
    expect(readdirSync(join(home, '.skillbox'))).toEqual([]);
  });
});
