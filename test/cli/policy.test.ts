import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { run } from '../fake-io.ts';
import { tempDirectory, writeFiles } from '../temp.ts';

const base = tempDirectory();
const GIT = join(import.meta.dirname, '../../examples/gibberish/git');
let root = '';
beforeEach(() => {
  root = mkdtempSync(join(base, 'case-'));
  mkdirSync(join(root, 'home'));
});

const SKILL = `---
name: counter
description: Counts.
version: 1.0.0
lang: bash
---
Body.
`;
const cli = (words: string[], more: { cwd?: string; env?: Record<string, string> } = {}) =>
  run(words, {
    cwd: root,
    ...more,
    env: {
      HOME: join(root, 'home'),
      SKILLBOX_DATA_DIR: join(root, 'data'),
      SKILLBOX_CONFIG_DIR: join(root, 'config'),
      ...more.env,
    },
  });
const writeSkill = (path: string) =>
  writeFiles(join(root, path), { 'SKILL.md': SKILL, 'scripts/main.sh': 'echo {} > "$SANDBOX_OUTPUT"\n' });
const json = async (words: string[]) => JSON.parse((await cli([...words, '--json'])).out) as Record<string, unknown>;

describe('skillbox policy check', () => {
  test('says where a file is wrong and what to do, and exits with 2', async () => {
    writeFiles(root, { 'p.yaml': 'version: 1\nrules:\n  - name: a\n    when: {turst: user}\n    verdict: alow\n' });
    const { code, out } = await cli(['policy', 'check', 'p.yaml']);
    expect(code).toBe(2);
    expect(out.split('\n').slice(0, 4)).toEqual([
      'p.yaml:4:12: error: when has no key "turst"',
      '    hint: Did you mean trust?',
      'p.yaml:5:14: error: verdict is "alow"',
      '    hint: Did you mean allow?',
    ]);
    const shown = await cli(['policy', 'check', 'p.yaml', '--json']);
    expect(shown.code).toBe(2);
    expect(JSON.parse(shown.out)).toMatchObject({
      scope: 'user',
      ok: false,
      diagnostics: [{ line: 4, column: 12 }, {}],
    });
  });

  test('a right one is right; a missing one is not found', async () => {
    writeFiles(root, { '.skillbox/policy.yaml': 'version: 1\n' });
    expect(await cli(['policy', 'check', '.skillbox/policy.yaml'])).toMatchObject({
      code: 0,
      out: 'a valid policy (project)\n',
    });
    expect((await cli(['policy', 'check', 'gone.yaml'])).code).toBe(5);
  });

  test('what a file holds cannot drive the terminal', async () => {
    writeFiles(root, { 'p.yaml': 'version: 1\n"\\e[2Jx": 1\n' });
    const { out } = await cli(['policy', 'check', 'p.yaml']);
    expect(out).not.toContain('\u001b');
  });
});

describe('skillbox policy explain', () => {
  test('names the rule, the grant, the trust and who may answer', async () => {
    writeSkill('counter');
    const { code, out } = await cli(['policy', 'explain', 'counter']);
    expect(code).toBe(0);
    expect(out).toContain('trust: untrusted.');
    expect(out).toContain('scripts/main.sh: ask');
    expect(out).toContain('untrusted (shipped, rule 1)');
    expect(out).toContain('network none, secrets none, workspace private, isolated');
    expect(out).toContain('terminal: once, deny, deny-always');
  });

  test('shows every tool, or one', async () => {
    expect((await json(['policy', 'explain', GIT])).targets).toHaveLength(3);
    expect(await json(['policy', 'explain', GIT, 'git_log'])).toMatchObject({
      trust: 'bundled',
      targets: [
        {
          target: { kind: 'tool', name: 'git_log' },
          verdict: 'allow',
          rule: { source: 'default', name: 'gibberish-bundled-read-only' },
          beyondLeastPower: [],
          answers: {},
        },
      ],
    });
    expect((await cli(['policy', 'explain', GIT, 'git_push'])).code).toBe(2);
  });

  test('the user’s file, a project’s, and the word for no isolation all count', async () => {
    writeSkill('home/.skillbox/skills/counter');
    const explain = async (...more: string[]) => {
      const { targets } = await json(['policy', 'explain', 'home/.skillbox/skills/counter', ...more]);
      const [one] = targets as { verdict: string; rule: { name: string } }[];
      return `${one?.verdict} ${one?.rule.name}`;
    };
    expect(await explain()).toBe('allow least-power');
    expect(await explain('--sandbox', 'process')).toBe('ask not-isolated');
    writeFiles(root, {
      'config/policy.yaml': 'version: 1\nrules: [{name: mine, when: {skill: counter}, verdict: ask}]\n',
    });
    expect(await explain()).toBe('ask mine');
    writeFiles(root, { '.skillbox/policy.yaml': 'version: 1\nrules: [{name: theirs, when: {}, verdict: deny}]\n' });
    expect(await explain()).toBe('deny theirs');
    writeFiles(root, { '.skillbox/policy.yaml': 'oops\n' });
    expect(await explain()).toBe('deny unusable-policy');
  });
});

test('skillbox policy show lists the rules in the order in which they are asked', async () => {
  writeFiles(root, { 'config/policy.yaml': 'version: 1\nrules: [{name: mine, when: {skill: x}, verdict: deny}]\n' });
  const { policies } = (await json(['policy', 'show'])) as {
    policies: { source: string; rules: { name: string }[] }[];
  };
  expect(policies.map(({ source }) => source)).toEqual([join(root, 'config/policy.yaml'), 'default']);
  expect(policies[1]?.rules[0]?.name).toBe('untrusted');
  expect((await cli(['policy', 'show'])).out).toContain('deny: The rule "mine" speaks about it.');
});

describe('skillbox trust', () => {
  const trust = async (path: string) => (await json(['policy', 'explain', path])).trust;

  test('GB-17 a folder is untrusted until it is trusted, and again when it no longer is', async () => {
    writeSkill('project/skills/counter');
    expect(await trust('project/skills/counter')).toBe('untrusted');
    expect(await cli(['trust', 'add', 'project'])).toMatchObject({ code: 0, out: `${root}/project is trusted now\n` });
    expect((await cli(['trust', 'add', 'project/../project'])).out).toContain('was trusted already');
    expect(await trust('project/skills/counter')).toBe('user');
    expect((await cli(['trust', 'list'])).out).toContain(`${root}/project`);
    expect((await cli(['trust', 'remove', 'project/skills'])).code).toBe(5);
    expect((await cli(['trust', 'remove', 'project'])).code).toBe(0);
    expect(await trust('project/skills/counter')).toBe('untrusted');
    const { entries } = (await json(['audit', 'list'])) as {
      entries: { type: string; subject: string; data: unknown }[];
    };
    expect(entries.map(({ type, subject, data }) => [type, subject, data])).toEqual(
      ['trust.added', 'trust.removed'].map(type => [type, `${root}/project`, { kind: 'path' }]),
    );
  });

  test('SK-12 a skill of the same name in another place inherits nothing', async () => {
    writeSkill('a/counter');
    writeSkill('b/counter');
    await cli(['trust', 'add', 'a/counter']);
    expect([await trust('a/counter'), await trust('b/counter')]).toEqual(['user', 'untrusted']);
  });

  test('a publisher has an @; whoever means a folder writes its path', async () => {
    mkdirSync(join(root, 'acme'));
    await cli(['trust', 'add', '@acme']);
    await cli(['trust', 'add', 'acme']);
    const { trusted } = (await json(['trust', 'list'])) as { trusted: { kind: string; value: string }[] };
    expect(trusted.map(({ kind, value }) => [kind, value])).toEqual([
      ['publisher', 'acme'],
      ['path', join(root, 'acme')],
    ]);
    expect((await cli(['trust', 'add', '@../x'])).code).toBe(2);
  });

  test('what others can write to, the home, and what is not there cannot be trusted', async () => {
    mkdirSync(join(root, 'open'));
    chmodSync(join(root, 'open'), 0o777);
    expect(await cli(['trust', 'add', 'open'])).toMatchObject({ code: 2, err: expect.stringContaining('everybody') });
    expect((await cli(['trust', 'add', '/'])).err).toContain('holds your home directory');
    expect((await cli(['trust', 'add', 'gone'])).code).toBe(5);
  });

  test('a SKILL.md names its skill, as everywhere; what is neither a folder nor an archive vouches for nothing', async () => {
    writeSkill('a/counter');
    const folder = `${root}/a/counter`;
    expect(await cli(['trust', 'add', 'a/counter/SKILL.md'])).toMatchObject({ out: `${folder} is trusted now\n` });
    expect(await trust('a/counter')).toBe('user');
    expect((await cli(['trust', 'remove', 'a/counter/SKILL.md'])).out).toBe(`${folder} is trusted no longer\n`);
    expect(await trust('a/counter')).toBe('untrusted');
    expect((await cli(['trust', 'add', 'a/SKILL.md'])).code).toBe(5);
    // Not where a link of somebody's leads.
    writeSkill('b/other');
    mkdirSync(join(root, 'c'));
    symlinkSync(join(root, 'b/other/SKILL.md'), join(root, 'c/SKILL.md'));
    expect((await cli(['trust', 'add', 'c/SKILL.md'])).out).toBe(`${root}/c is trusted now\n`);
    writeFiles(root, { 'a/counter/notes.txt': 'Notes.\n', 'a/tool.zip': 'PK\u0003\u0004' });
    const refused = await cli(['trust', 'add', 'a/counter/notes.txt']);
    expect(refused).toMatchObject({ code: 2, err: expect.stringContaining('is no folder and no archive') });
    expect((await cli(['trust', 'add', 'a/tool.zip'])).code).toBe(0);
  });

  test('what is gone by now is trusted no longer, by the name that it had', async () => {
    for (const name of ['gone', 'lost']) {
      writeSkill(`${name}/counter`);
      await cli(['trust', 'add', name]);
      rmSync(join(root, name), { recursive: true });
    }
    symlinkSync(root, join(root, 'way'));
    expect((await cli(['trust', 'remove', 'gone'])).code).toBe(0);
    expect((await cli(['trust', 'remove', 'way/lost'])).code).toBe(0);
    expect(await json(['trust', 'list'])).toMatchObject({ trusted: [] });
  });

  test('an agent cannot vouch for a skill', async () => {
    writeSkill('b/counter');
    const refused = await cli(['trust', 'add', 'b'], { env: { CLAUDECODE: '1' } });
    expect(refused).toMatchObject({ code: 4, err: expect.stringContaining('an agent cannot vouch') });
    expect(await trust('b/counter')).toBe('untrusted');
  });

  test('a list that cannot be read is told, and trusts nothing', async () => {
    writeSkill('a/counter');
    await cli(['trust', 'add', 'a']);
    writeFiles(root, { 'data/trust.json': '{' });
    expect(await cli(['trust', 'list'])).toMatchObject({ code: 1, err: expect.stringContaining('cannot be used') });
    expect(await trust('a/counter')).toBe('untrusted');
    expect((await cli(['trust', 'add', 'a'])).code).toBe(1);
  });
});
