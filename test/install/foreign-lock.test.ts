import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, readlinkSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { run } from '../fake-io.ts';
import { git, repository, skillText, urlOf } from '../support/git.ts';
import { tempDirectory, writeFiles } from '../temp.ts';

const base = tempDirectory();

test("another installer's list of a project is taken over, with what it put in place", async () => {
  const project = join(base, 'project');
  const source = repository(join(base, 'source'), {
    'skills/word/SKILL.md': skillText('word'),
    'skills/line/SKILL.md': skillText('line'),
  });
  mkdirSync(join(project, '.git'), { recursive: true });
  mkdirSync(join(base, 'home/.claude'), { recursive: true });
  const env = { HOME: join(base, 'home'), SKILLBOX_DATA_DIR: join(base, 'data') };
  // As it leaves them: a folder, and a link from the other agent to it.
  writeFiles(project, { '.agents/skills/word/SKILL.md': skillText('word') });
  mkdirSync(join(project, '.claude/skills'), { recursive: true });
  symlinkSync('../../.agents/skills/word', join(project, '.claude/skills/word'));
  const entry = (name: string, text: string) => ({
    source: 'acme/skills',
    sourceType: 'git',
    sourceUrl: urlOf(source),
    skillPath: `skills/${name}/SKILL.md`,
    computedHash: createHash('sha256').update('SKILL.md').update(text).digest('hex'),
  });
  const list = {
    version: 1,
    skills: {
      line: entry('line', 'something else'),
      word: entry('word', skillText('word')),
      odd: { source: 'x', sourceType: 'node_modules', computedHash: '' },
      '../evil': entry('word', ''),
    },
  };
  const text = JSON.stringify(list, null, 2);
  writeFileSync(join(project, 'skills-lock.json'), text);

  const ran = await run(['install', '--import', '--yes'], { cwd: project, env });
  expect(ran.code, ran.err).toBe(0);
  expect(ran.err).toContain('line: the source has other bytes than');
  expect(ran.err).not.toContain('word: the source has other bytes');
  expect(ran.err).toContain('odd is left out');
  expect(ran.err).toContain('../evil is left out');
  expect(readlinkSync(join(project, '.claude/skills/word'))).toBe('../../.skillbox/skills/word');
  const lock = JSON.parse(readFileSync(join(project, 'skills.lock'), 'utf8'));
  expect(Object.keys(lock.skills)).toEqual(['line', 'word']);
  expect(lock.skills.word.source.commit).toBe(git(source, 'rev-parse', 'HEAD'));
  expect(readFileSync(join(project, 'skills-lock.json'), 'utf8')).toBe(text);
  expect((await run(['verify'], { cwd: project, env })).code).toBe(0);
});

test("the user's list, and none", async () => {
  const home = join(base, 'home-2');
  const source = repository(join(base, 'source-2'), { 'SKILL.md': skillText('source-2') });
  const entry = { source: 'acme/x', sourceType: 'git', sourceUrl: urlOf(source), skillPath: 'SKILL.md' };
  const rest = { skillFolderHash: 'a'.repeat(40), installedAt: 'x', updatedAt: 'x' };
  mkdirSync(home);
  const env = { HOME: home, SKILLBOX_DATA_DIR: join(base, 'data-2') };
  const words = ['install', '--import', '--global', '--yes', '--json'];
  expect(JSON.parse((await run(words, { env })).out).error).toBe('NOT_FOUND');
  writeFiles(home, {
    '.agents/.skill-lock.json': JSON.stringify({ version: 3, skills: { 'source-2': { ...entry, ...rest } } }),
  });
  expect((await run(words, { env })).code).toBe(0);
  expect(existsSync(join(home, '.skillbox/skills/source-2/SKILL.md'))).toBe(true);
  writeFiles(home, { '.agents/.skill-lock.json': JSON.stringify({ version: 2, skills: {} }) });
  expect(JSON.parse((await run(words, { env })).out).error).toBe('LOCK_INVALID');
});
