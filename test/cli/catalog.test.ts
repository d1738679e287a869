import { existsSync, mkdirSync, realpathSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { skillsIn } from '../catalog/make.ts';
import { run } from '../fake-io.ts';
import { tempDirectory, writeFiles } from '../temp.ts';

/** A user with a home, and a project under git. */
function newUser(): { home: string; project: string; cli: (...words: string[]) => ReturnType<typeof run> } {
  const base = realpathSync(tempDirectory());
  const [home, project] = [join(base, 'home'), join(base, 'project')];
  mkdirSync(join(project, '.git'), { recursive: true });
  mkdirSync(home);
  const env = { HOME: home, SKILLBOX_DATA_DIR: join(base, 'data'), SKILLBOX_CONFIG_DIR: join(base, 'config') };
  return { home, project, cli: (...words) => run(words, { cwd: project, env }) };
}

const json = async (ran: ReturnType<typeof run>) => JSON.parse((await ran).out);
const namesOf = (entries: { name: string }[]) => entries.map(({ name }) => name);
/** Those of the user and the project; Skillbox brings some of its own. */
const own = (entries: { name: string; place: string }[]) => namesOf(entries.filter(({ place }) => place !== 'bundled'));

describe('skillbox catalog', () => {
  test('AS-09/AS-10/AS-13 shows the user\u2019s skills with the absolute path of SKILL.md', async () => {
    const { home, cli } = newUser();
    skillsIn({ hello: 'Says hello.' }, join(home, '.claude/skills'));
    const { code, out, err } = await cli('catalog', '--query', 'hello');
    expect(code).toBe(0);
    expect(out).toContain(`  <skill>
    <name>hello</name>
    <description>Says hello.</description>
    <location>${join(home, '.claude/skills/hello/SKILL.md')}</location>
  </skill>
`);
    expect(err).toContain('1 skill, about ');
  });

  test('what was activated lately comes first, the latest before the others, and no store is made to know it', async () => {
    const { home, cli } = newUser();
    skillsIn({ apple: 'A.', banana: 'B.', cherry: 'C.', date: 'D.' }, join(home, '.claude/skills'));
    const order = async (...words: string[]) => own((await json(cli('catalog', '--json', ...words))).skills);
    expect(await order()).toEqual(['apple', 'banana', 'cherry', 'date']);
    expect(existsSync(join(home, '../data/skillbox.db'))).toBe(false);
    for (const name of ['date', 'cherry']) expect((await cli('activate', name)).code).toBe(0);
    expect(await order()).toEqual(['cherry', 'date', 'apple', 'banana']);
    expect((await cli('activate', 'date')).code).toBe(0);
    expect(await order()).toEqual(['date', 'cherry', 'apple', 'banana']);
    // Words are asked first.
    expect(await order('--query', 'apple')).toEqual(['apple']);
  });

  test('a store that cannot be read costs the order, not the catalog', async () => {
    const { home, cli } = newUser();
    skillsIn({ apple: 'A.' }, join(home, '.claude/skills'));
    writeFiles(join(home, '../data'), { 'skillbox.db': 'not a database' });
    expect((await cli('catalog')).out).toContain('<name>apple</name>');
  });

  test('AS-09 skills of a project are not shown until the project is trusted, and it says so', async () => {
    const { home, project, cli } = newUser();
    const place = skillsIn({ deploy: 'Evil.', build: 'Builds.' }, join(project, '.claude/skills'));
    skillsIn({ deploy: 'Mine.' }, join(home, '.claude/skills'));
    const before = await cli('catalog');
    expect(before.out).not.toContain('Evil.');
    expect(before.out).toContain('Mine.');
    expect(before.err).toContain(
      `${place} holds 2 skills that nobody vouches for; not shown. If you trust them: skillbox trust add ${place}`,
    );
    expect(namesOf((await json(cli('catalog', '--json'))).untrusted)).toEqual(['build', 'deploy']);
    expect(await cli('activate', 'build')).toMatchObject({
      code: 4,
      err: expect.stringContaining('skillbox trust add'),
    });
    expect((await cli('trust', 'add', place)).code).toBe(0);
    const after = await cli('catalog');
    expect(after.out).toContain('Evil.');
    expect(after.out).not.toContain('Mine.');
    expect(after.err).toContain('is shadowed by');
    expect((await cli('activate', 'build')).code).toBe(0);
  });

  test('SK-12 one skill of a project can be trusted alone; a link out of the user\u2019s directory leaves the trust', async () => {
    const { home, project, cli } = newUser();
    skillsIn({ 'skills/a': 'A.', 'skills/b': 'B.', 'other/c': 'C.' }, project);
    await cli('trust', 'add', 'skills/a');
    mkdirSync(join(home, '.claude/skills'), { recursive: true });
    symlinkSync(join(project, 'other/c'), join(home, '.claude/skills/c'));
    const { skills, untrusted } = await json(cli('catalog', '--json'));
    expect([own(skills), namesOf(untrusted)]).toEqual([['a'], ['b', 'c']]);
  });

  test('--dir comes first, several times, and is shown as asked', async () => {
    const { project, home, cli } = newUser();
    skillsIn({ 'one/x': 'From one.', 'two/x': 'From two.', 'two/y': 'Y.' }, project);
    skillsIn({ x: 'From home.' }, join(home, '.agents/skills'));
    const { skills, shadowed } = await json(cli('catalog', '--dir', 'one', '--dir', 'two', '--json'));
    expect(skills.find(({ name }: { name: string }) => name === 'x')).toMatchObject({
      description: 'From one.',
      place: 'named',
      trust: 'untrusted',
    });
    expect(namesOf(shadowed)).toEqual(['x', 'x']);
  });

  test('nothing to show prints nothing on stdout', async () => {
    const { cli } = newUser();
    const { code, out } = await cli('catalog', '--query', 'zzzzzzzz');
    expect([code, out]).toEqual([0, '']);
  });

  test('a skill that does not load is told to people and kept from models', async () => {
    const { home, cli } = newUser();
    skillsIn({ broken: '---\nname: broken\n---\n' }, join(home, '.claude/skills'));
    const { out, err } = await cli('catalog');
    expect(out).not.toContain('broken');
    expect(err).toContain('broken does not load: there is no description');
    expect((await json(cli('catalog', '--json'))).broken).toMatchObject([
      { name: 'broken', fault: { code: 'description-missing' } },
    ]);
    expect(await cli('activate', 'broken')).toMatchObject({ code: 3 });
  });

  test('a denial of the policy hides a skill and keeps its text', async () => {
    const { home, cli } = newUser();
    skillsIn({ fine: 'Fine.', bad: 'Bad.' }, join(home, '.claude/skills'));
    writeFiles(join(home, '../config'), {
      'policy.yaml':
        'version: 1\nrules:\n  - name: no-bad\n    when:\n      skill: bad\n    verdict: deny\n    why: We do not want it.\n',
    });
    const { skills, hidden } = await json(cli('catalog', '--json'));
    expect(own(skills)).toEqual(['fine']);
    expect(hidden).toMatchObject([{ name: 'bad', reason: expect.stringContaining('We do not want it') }]);
    expect(await cli('activate', 'bad')).toMatchObject({ code: 4 });
  });

  test('GB-19/GB-20 --format gibberish --mode Dev --json gives manifest, schemas and policies', async () => {
    const { cli } = newUser();
    const { text, tools } = await json(cli('catalog', '--format', 'gibberish', '--mode', 'Dev', '--json'));
    expect(text).toMatch(
      /^You are a model that can do function calling with the following functions:\n\n\[Skills\]\n- /,
    );
    expect(tools[0]).toMatchObject({
      name: 'git_status',
      schema: { type: 'object', additionalProperties: false },
      policy: { name: 'git_status', read_only: true, always_ask: false, source: { skill: 'git' } },
    });
  });

  test('a budget is kept, and what it cost is said on stderr and in the document', async () => {
    const { cli } = newUser();
    const { out, err } = await cli('catalog', '--budget', '300', '--format', 'markdown');
    expect(err).toMatch(/skills are left out/);
    expect(out).toMatch(/To save room, \d+ skills are left out/);
    const document = await json(cli('catalog', '--budget', '300', '--json', '--tokens', 'exact'));
    expect(document.tokens).toBeLessThanOrEqual(300);
    expect(document.cut.left_out).toBe(document.left_out.length);
  });

  test('usage errors say what fits', async () => {
    const { cli } = newUser();
    expect(await cli('catalog', '--format', 'xlm')).toMatchObject({
      code: 2,
      err: expect.stringContaining('did you mean xml?'),
    });
    expect(await cli('catalog', '--budget', 'much')).toMatchObject({ code: 2 });
    expect(await cli('catalog', 'way')).toMatchObject({ code: 2 });
  });

  test('text of skills cannot drive a terminal', async () => {
    const { home, cli } = newUser();
    skillsIn(
      {
        'e\u001b[2J': '---\nname: "e\\u001b[2J"\ndescription: "x\\u001b[2J\\u202e"\n---\n',
        f: '---\nname: "\\u001b[31m"\n---\n',
      },
      join(home, '.claude/skills'),
    );
    const { out, err } = await cli('catalog');
    expect(out + err).not.toMatch(/[\u001b\u202e]/);
  });
});

describe('skillbox catalog why', () => {
  test('AS-09 shows who holds the name and who does not, with both paths and the reason', async () => {
    const { home, project, cli } = newUser();
    skillsIn({ git: 'Project.' }, join(project, 'skills'));
    skillsIn({ git: 'User.', 'x/outer': 'Outer.', 'x/outer/inner': 'Inner.' }, join(home, '.claude/skills'));
    const { code, out } = await cli('catalog', 'why', 'git');
    expect(code).toBe(0);
    expect(out).toContain(`  ${join(project, 'skills/git')} (project)\n    Not trusted`);
    expect(out).toContain(`* ${join(home, '.claude/skills/git')} (user)\n    It holds the name.`);
    expect(out).toContain('(bundled)\n    Shadowed by ');
    expect((await cli('catalog', 'why', 'outer')).out).toContain('holds another skill, which is not offered');
    const inner = await cli('catalog', 'why', 'inner');
    expect(inner.code).toBe(0);
    expect(inner.out).toContain(
      `  ${join(home, '.claude/skills/x/outer/inner')} (user)\n    It lies inside another skill`,
    );
    const { candidates } = await json(cli('catalog', 'why', 'git', '--json'));
    expect(candidates.map(({ place, holds }: { place: string; holds: boolean }) => [place, holds])).toEqual([
      ['project', false],
      ['user', true],
      ['bundled', false],
    ]);
  });

  test('of a name that is not there names the nearest and the places', async () => {
    const { cli } = newUser();
    const { code, err } = await cli('catalog', 'why', 'word-cuont');
    expect(code).toBe(5);
    expect(err).toContain('did you mean word-count?');
    expect(err).toContain('.skillbox/skills');
  });
});

describe('skillbox activate', () => {
  test('AS-11 prints the element, by name and by path', async () => {
    const { home, cli } = newUser();
    skillsIn({ hello: 'Says hello.' }, join(home, '.claude/skills'));
    const byName = await cli('activate', 'hello');
    expect(byName).toMatchObject({ code: 0, err: '' });
    expect(byName.out).toMatch(/^<skill_content name="hello">\n# hello\n\nSkill directory: /);
    expect((await cli('activate', join(home, '.claude/skills/hello'))).out).toBe(byName.out);
    expect(await json(cli('activate', 'hello', '--json'))).toMatchObject({
      name: 'hello',
      text: byName.out,
      references: [],
    });
  });

  test('AS-11/AS-14 is in the journal before the text is given, and not given without it', async () => {
    const { home, cli } = newUser();
    skillsIn({ hello: 'Says hello.' }, join(home, '.claude/skills'));
    await cli('activate', 'hello');
    const { out } = await cli('audit', 'list', '--json');
    expect(out).toContain('"skill.activated"');
    expect(out).toContain('skillbox activate');
    writeFiles(join(home, '..'), { blocked: '' });
    const env = { HOME: home, SKILLBOX_DATA_DIR: join(home, '../blocked') };
    const refused = await run(['activate', 'hello'], { cwd: home, env });
    expect(refused.out).toBe('');
    expect(refused.code).not.toBe(0);
  });

  test('of nothing says where to look', async () => {
    const { cli } = newUser();
    expect(await cli('activate', 'nothing')).toMatchObject({
      code: 5,
      err: expect.stringContaining('skillbox catalog why nothing'),
    });
    expect((await cli('activate', 'word-cuont')).err).toContain('did you mean word-count?');
  });
});

describe('a skill by its name', () => {
  test('show, explain and run take it; a path that is there comes first', async () => {
    const { home, project, cli } = newUser();
    skillsIn({ hello: 'Of the home.' }, join(home, '.claude/skills'));
    expect((await cli('skill', 'show', 'hello')).out).toContain('Of the home.');
    expect((await cli('policy', 'explain', 'hello')).out).toContain('trust: user');
    expect(await cli('run', 'hello')).toMatchObject({ code: 2, err: expect.stringContaining('hello') });
    skillsIn({ hello: 'Of the folder.' }, project);
    expect((await cli('skill', 'show', 'hello')).out).toContain('Of the folder.');
  });

  test('one that nobody vouches for is not taken by name, and one that is not there is not found', async () => {
    const { project, cli } = newUser();
    skillsIn({ deploy: 'Evil.' }, join(project, '.claude/skills'));
    expect(await cli('run', 'deploy')).toMatchObject({ code: 4, err: expect.stringContaining('nobody vouches for') });
    expect(await cli('run', 'nowhere')).toMatchObject({ code: 5, err: expect.stringContaining('catalog why nowhere') });
  });
});
