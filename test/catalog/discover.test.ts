import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { cleanLine, discover, resolveNames, trustByPlace, WALK_LIMITS } from '../../src/catalog/index.ts';
import { readSkill } from '../../src/dialects/index.ts';
import { openDirectory } from '../../src/skill/index.ts';
import { tempDirectory, writeFiles } from '../temp.ts';
import { skillsIn, skillText, user } from './make.ts';

const repository = join(import.meta.dirname, '../..');
const names = (discovery: { skills: readonly { name: string }[] }) => discovery.skills.map(({ name }) => name);

describe('discovery', () => {
  test('AS-09/AS-13 finds skills with name, description and the absolute path of SKILL.md', () => {
    const root = skillsIn({ 'b/two': 'The second.', one: 'The first.', 'node_modules/x': 'No.', '.git/y': 'No.' });
    const { skills, broken, problems } = discover([user(root)]);
    expect(skills.map(({ name, description, location }) => [name, description, location])).toEqual([
      ['two', 'The second.', join(root, 'b/two/SKILL.md')],
      ['one', 'The first.', join(root, 'one/SKILL.md')],
    ]);
    expect([broken, problems]).toEqual([[], []]);
  });

  test('AS-09 a place that is not there, or is a file, holds nothing', () => {
    const root = writeFiles(tempDirectory(), { file: '' });
    expect(discover([user(join(root, 'none')), user(join(root, 'file'))]).skills).toEqual([]);
  });

  test('X-05/06 repairs what other clients accept; what does not load keeps its error', () => {
    const root = skillsIn({
      colon: '---\nname: colon\ndescription: Use when: asked\n---\n',
      'other-folder': '---\nname: its-own-name\ndescription: Loads.\n---\n',
      silent: '---\nname: silent\n---\n',
      blank: '---\nname: blank\ndescription: "  "\n---\n',
      unread: '---\n{{{\n---\n',
    });
    const { skills, broken } = discover([user(root)]);
    expect(skills.map(({ name, description }) => [name, description])).toEqual([
      ['colon', 'Use when: asked'],
      ['its-own-name', 'Loads.'],
    ]);
    expect(broken.map(({ name, fault }) => [name, fault.code])).toEqual([
      ['blank', 'description-missing'],
      ['silent', 'description-missing'],
      ['unread', expect.any(String)],
    ]);
  });

  test('X-08/AS-09 a linked skill is followed once and its real path recorded; cycles and second ways end', () => {
    const root = skillsIn({ 'store/a': 'A.', 'skills/own': 'Own.', 'far/deep/b': 'B.' });
    symlinkSync('../store/a', join(root, 'skills/linked'));
    symlinkSync('../store/a', join(root, 'skills/twice'));
    symlinkSync('..', join(root, 'skills/cycle'));
    symlinkSync('own', join(root, 'skills/same'));
    symlinkSync('nowhere', join(root, 'skills/dangling'));
    symlinkSync('self', join(root, 'skills/self'));
    symlinkSync('../../store', join(root, 'far/deep/out'));
    const { skills, problems } = discover([user(join(root, 'skills'))]);
    const real = realpathSync(root);
    // Behind the link `cycle` lie the other folders, each seen once; `out` is a link behind a link.
    expect(skills.map(({ folder, realFolder }) => [folder.slice(root.length), realFolder])).toEqual([
      ['/skills/cycle/far/deep/b', join(real, 'far/deep/b')],
      ['/skills/cycle/store/a', join(real, 'store/a')],
      ['/skills/own', join(real, 'skills/own')],
    ]);
    expect(problems.filter(({ kind }) => kind === 'seen').map(({ path }) => path.slice(root.length))).toEqual([
      '/skills/cycle/skills',
      '/skills/linked',
      '/skills/same',
      '/skills/twice',
    ]);
  });

  test('X-08 a SKILL.md that is a link out of its folder does not load, one inside does', () => {
    const root = writeFiles(tempDirectory(), {
      'secret.md': skillText('stolen', 'Not yours.'),
      'out/README.md': '',
      'in/docs/real.md': skillText('in', 'Inside.'),
    });
    symlinkSync('../secret.md', join(root, 'out/SKILL.md'));
    symlinkSync('docs/real.md', join(root, 'in/SKILL.md'));
    const { skills, broken } = discover([user(root)]);
    expect(names({ skills })).toEqual(['in']);
    expect(broken.map(({ name }) => name)).toEqual(['out']);
  });

  test('AS-09 a skill inside a skill is reported and not offered', () => {
    const root = skillsIn({ outer: 'Outer.', 'outer/skills/inner': 'Inner.', 'outer/references/own': 'A file.' });
    const { skills } = discover([user(root)]);
    expect(names({ skills })).toEqual(['outer']);
    expect(skills[0]?.nested).toEqual([join(root, 'outer/skills/inner')]);
  });

  test('AS-09 is bounded in depth, number and time, and says where it stopped', () => {
    const root = skillsIn({ a: 'A.', b: 'B.', c: 'C.', 'x/y/z/deep': 'Deep.' });
    const bounded = (limits: Partial<typeof WALK_LIMITS>, now = Date.now) => {
      const { skills, problems } = discover([user(root)], { limits: { ...WALK_LIMITS, ...limits }, now });
      return { names: names({ skills }), problems: problems.map(({ kind }) => kind) };
    };
    expect(bounded({})).toEqual({ names: ['a', 'b', 'c', 'deep'], problems: [] });
    expect(bounded({ maxDepth: 2 })).toEqual({ names: ['a', 'b', 'c'], problems: ['limit'] });
    expect(bounded({ maxSkills: 2 })).toEqual({ names: ['a', 'b'], problems: ['limit'] });
    expect(bounded({ maxFolders: 3 })).toEqual({ names: ['a', 'b'], problems: ['limit'] });
    let clock = 0;
    const slow = () => (clock += 10_000);
    expect(bounded({ maxMs: 5000, maxFolders: 257 }, slow)).toMatchObject({ problems: ['limit'] });
  });

  test.skipIf(process.getuid?.() === 0)('a folder that may not be entered is reported, the others are found', () => {
    const root = skillsIn({ open: 'Open.', 'shut/inner': 'Shut.' });
    chmodSync(join(root, 'shut'), 0);
    const { skills, problems } = discover([user(root)]);
    chmodSync(join(root, 'shut'), 0o755);
    expect(names({ skills })).toEqual(['open']);
    expect(problems).toMatchObject([{ kind: 'unreadable', path: join(root, 'shut') }]);
  });

  test('a SKILL.md that is a FIFO or a directory holds nothing up', () => {
    const root = tempDirectory();
    mkdirSync(join(root, 'a/SKILL.md'), { recursive: true });
    mkdirSync(join(root, 'b'));
    execFileSync('mkfifo', [join(root, 'b/SKILL.md')]);
    expect(discover([user(root)])).toMatchObject({ skills: [], broken: [{ name: 'b' }] });
  });
});

describe('names', () => {
  const level = (kind: 'project' | 'user' | 'bundled' | 'configured', skills: Record<string, string>) => {
    return { kind, path: skillsIn(skills) };
  };

  test('AS-09/SK-12 the earlier place holds the name, the later ones are shadowed, with both paths', () => {
    const project = level('project', { git: 'Project.' });
    const mine = level('user', { git: 'User.', own: 'Own.' });
    const bundled = level('bundled', { git: 'Bundled.', extra: 'Extra.' });
    const { skills, shadowed } = resolveNames(discover([project, mine, bundled]), () => 'user');
    expect(skills.map(({ name, description }) => `${name} ${description}`)).toEqual([
      'git Project.',
      'own Own.',
      'extra Extra.',
    ]);
    expect(shadowed.map(({ skill, by }) => [skill.folder, by.folder])).toEqual([
      [join(mine.path, 'git'), join(project.path, 'git')],
      [join(bundled.path, 'git'), join(project.path, 'git')],
    ]);
  });

  test('SK-12 a skill that nobody vouches for holds no name and inherits no trust', () => {
    const project = level('project', { git: 'Evil.' });
    const mine = level('user', { git: 'Mine.' });
    const { skills, untrusted, shadowed } = resolveNames(discover([project, mine]), trustByPlace);
    expect(skills.map(({ description }) => description)).toEqual(['Mine.']);
    expect(untrusted.map(({ description, trust }) => [description, trust])).toEqual([['Evil.', 'untrusted']]);
    expect(shadowed).toEqual([]);
  });

  test('SK-12 a named place is shown as asked, and still not trusted', () => {
    const named = { kind: 'named' as const, path: skillsIn({ git: 'Named.' }) };
    const { skills } = resolveNames(discover([named]), () => 'untrusted');
    expect(skills).toMatchObject([{ name: 'git', trust: 'untrusted' }]);
  });

  test('names that look alike are one name', () => {
    const mine = level('user', {
      a: '---\nname: "g\u200bit"\ndescription: Hidden.\n---\n',
      b: '---\nname: Git\ndescription: Upper.\n---\n',
    });
    const { skills, shadowed } = resolveNames(discover([mine]), trustByPlace);
    expect([skills.map(({ name }) => name), shadowed.map(({ skill }) => skill.name)]).toEqual([['git'], ['Git']]);
  });

  test('AS-09 within one place the first path holds the name, whatever order the disk gives', () => {
    fc.assert(
      fc.property(fc.shuffledSubarray(['b', 'a', 'd/e', 'c'], { minLength: 2 }), folders => {
        const root = tempDirectory();
        for (const folder of folders) writeFiles(root, { [`${folder}/SKILL.md`]: skillText('same', folder) });
        const { skills } = resolveNames(discover([user(root)]), trustByPlace);
        expect(skills.map(({ description }) => description)).toEqual([[...folders].sort()[0]]);
      }),
      { numRuns: 20 },
    );
  });
});

/** What discovery says must be what the whole reader says, whichever way it took. */
function expectSame(folder: string): void {
  const { skills, broken } = discover([user(folder)]);
  const opened = openDirectory(folder);
  const { skill } = readSkill(opened, { mode: 'lenient', dialect: null });
  opened.close();
  const seen = skills.map(({ dialect, name, description, offer }) => ({ dialect, name, description, offer }));
  const whole = skill === null ? [] : [skill];
  const expected = whole.map(({ dialect, name, description, offer }) => {
    return { dialect, name: cleanLine(name), description: cleanLine(description), offer };
  });
  expect([seen, broken.length], folder).toEqual([expected, skill === null ? 1 : 0]);
}

describe('X-01/05/06 discovery and the whole reader agree', () => {
  const dialects = ['agent-skills', 'skillbox', 'workspace', 'gibberish', 'seksbot'];
  test.each(dialects)('on every conformance case and example of %s', dialect => {
    const cases = readdirSync(join(repository, 'conformance', dialect));
    for (const name of cases) {
      // Without any file that makes it a skill, discovery does not see it at all.
      if (name === 'no-skill-md') continue;
      expectSame(join(repository, 'conformance', dialect, name, 'skill'));
    }
    for (const name of readdirSync(join(repository, 'examples', dialect))) {
      expectSame(join(repository, 'examples', dialect, name));
    }
  });

  test('on a SKILL.md that the skill itself leaves out', () => {
    const files = { 'SKILL.md': skillText('one', 'Left out.'), '.skillboxignore': 'SKILL.md\n' };
    expectSame(writeFiles(join(tempDirectory(), 'one'), files));
  });

  test.each(['/bin/true', 'other.sh', 'nowhere'])('on an entrypoint that is a link to %s', target => {
    const text = skillText('one', 'Versioned.', 'version: 1.0.0\n');
    const root = writeFiles(join(tempDirectory(), 'one'), { 'SKILL.md': text, 'scripts/other.sh': '' });
    symlinkSync(target, join(root, 'scripts/main.sh'));
    expectSame(root);
  });

  test('on random frontmatter and files', () => {
    const line = fc.constantFrom(
      'name: one',
      'name: "one"',
      'name: Öne',
      'name: ｏｎｅ',
      'name: one two',
      'description: Does it.',
      'description: Use when: asked',
      'description: >-\n  Folded\n  text.',
      'version: 1.0.0',
      'lang: bash',
      'tags: a, b',
      'author: me',
      'metadata:\n  a: b',
      'modes: [Dev]',
      'read_only: true',
      'disable-model-invocation: true',
      'user-invocable: no',
      'image: x',
      '...',
      '# comment',
      'name:',
    );
    const body = fc.constantFrom(
      '',
      '# Title\n',
      '### t\n\n#### Command\n\n```bash\nls\n```\n',
      '---\n\nmore\n',
      '#### Commands\n',
    );
    const file = fc.constantFrom('scripts/main.sh', 'main.py', 'skill.yaml', '.skillboxignore', 'references/a.md');
    const open = fc.constantFrom('---\n', '--- \n', '\ufeff---\n', '---\r\n', '\n---\n');
    fc.assert(
      fc.property(
        open,
        fc.array(line, { maxLength: 6 }),
        body,
        fc.array(file, { maxLength: 2 }),
        (start, lines, text, files) => {
          const root = join(tempDirectory(), 'one');
          mkdirSync(root);
          writeFileSync(join(root, 'SKILL.md'), `${start}${lines.join('\n')}\n---\n${text}`);
          writeFiles(
            root,
            Object.fromEntries(files.map(path => [path, path === '.skillboxignore' ? 'SKILL.md\n' : 'name: m\n'])),
          );
          expectSame(root);
        },
      ),
      { numRuns: 300 },
    );
  });
});
