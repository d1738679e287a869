import { chmodSync, existsSync, renameSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Reply, Skillbox } from '../../src/app.ts';
import { workspaceFor } from '../../src/cli/run-request.ts';
import type { Skill } from '../../src/skill/index.ts';
import { run as runWords } from '../fake-io.ts';
import { newTool, person, SAYS, withData } from '../support/approvals.ts';
import { PackageServer } from '../support/packages.ts';
import { script as byPath, NO_SANDBOX, newSkill, runSkill } from '../support/skillbox.ts';
import { tempDir, tidy } from '../support/temp.ts';
import { writeFiles } from '../temp.ts';

tidy();

const opened: Skillbox[] = [];
const server = new PackageServer();
beforeAll(async () => {
  await server.start();
  server.addWheel('tabulate', '0.9.0', { 'tabulate/__init__.py': '' });
});
afterAll(async () => {
  for (const skillbox of opened) await skillbox.close();
  server.close();
});
const open = async () => {
  const made = await withData(server.pip);
  opened.push(made.skillbox);
  return made;
};
const by = (channel: Reply['channel']) => async () => ({ answer: 'once', channel, by: 'tester' }) as const;
const MAIN = { kind: 'main' } as const;
const READ_ONLY = { frontmatter: 'read_only: true\n' };

describe.skipIf(NO_SANDBOX)('an agent that drives the command line', () => {
  test.each(['flag', 'elicitation'] as const)(
    'GB-17 a "once" that came by %s is for that run: the first run that a person sees is still to come',
    async channel => {
      const { skillbox } = await open();
      const path = newTool(READ_ONLY);
      expect(await runSkill(skillbox, path, { ...SAYS, ask: by(channel) })).toMatchObject({
        state: 'success',
        decision: { rule: { name: 'gibberish-user-read-only' } },
      });
      expect(await runSkill(skillbox, path, { ...SAYS, ask: null })).toMatchObject({ state: 'waiting' });
      // After a person saw it once, it passes.
      expect(await runSkill(skillbox, path, { ...SAYS, ask: by('terminal') })).toMatchObject({ state: 'success' });
      expect(await runSkill(skillbox, path, { ...SAYS, ask: null })).toMatchObject({ state: 'success' });
    },
  );

  test('GB-18 "deny always" holds for the content, whatever format it is said to be in, and however its entrypoint is called', async () => {
    const { skillbox } = await open();
    const path = newSkill('bash', 'echo hi\n');
    const target = byPath('scripts/main.sh');
    const refused = person('deny-always');
    await runSkill(skillbox, path, { target, trusted: false, ask: refused.ask });
    expect(refused.seen).toHaveLength(1);
    // Trusted since: with the least power it would run unasked.
    for (const other of [{ dialect: 'skillbox' }, { dialect: 'agent-skills' }, { target: MAIN }] as const)
      expect(await runSkill(skillbox, path, { target, ...other, ask: null }), JSON.stringify(other)).toMatchObject({
        startedAt: null,
        decision: { verdict: 'deny', rule: { name: 'denied-before' } },
      });
  });
});

describe.skipIf(NO_SANDBOX)('a run that waits', () => {
  test("is still of the project that it was asked for in, wherever the answer comes from: the project's policy holds", async () => {
    const env = { SKILLBOX_DATA_DIR: join(tempDir('data'), 'data'), HOME: tempDir('home'), PATH: '/usr/bin:/bin' };
    const project = writeFiles(tempDir('project', 0o755), {
      '.skillbox/policy.yaml': 'version: 1\napprovals:\n  flag: []\n',
    });
    const asked = await runWords(['run', newSkill('bash', 'echo ran\n'), '--json'], { cwd: project, env });
    const { execution_id: id } = JSON.parse(asked.out);
    for (const cwd of [project, tempDir('elsewhere', 0o755)])
      expect(await runWords(['approve', 'allow', id], { cwd, env })).toMatchObject({
        err: expect.stringContaining('the policy takes no "once" that comes by flag'),
      });
    const shown = await runWords(['exec', 'show', id, '--json'], { cwd: project, env });
    expect(JSON.parse(shown.out)).toMatchObject({ status: 'waiting' });
  });
});

describe('another user of the machine', () => {
  test('GB-11 a .git that was put into a directory such as /tmp does not make all of it the workspace of a tool', () => {
    const tmp = writeFiles(tempDir('shared', 0o755), { '.git/HEAD': '', 'mine/a.txt': '', 'others/b.txt': '' });
    const tool = { dialect: 'gibberish' } as Skill;
    expect(workspaceFor(tool, null, join(tmp, 'mine'))).toBe(tmp);
    chmodSync(tmp, 0o1777);
    expect(workspaceFor(tool, null, join(tmp, 'mine'))).toBeNull();
    writeFiles(join(tmp, 'mine'), { '.git/HEAD': '' });
    expect(workspaceFor(tool, null, join(tmp, 'mine'))).toBe(join(tmp, 'mine'));
  });
});

describe.skipIf(NO_SANDBOX)('what "always" leaves to the caller', () => {
  test('a variable cannot make a program of the skill start another one', async () => {
    const { skillbox } = await open();
    const path = newSkill('bash', 'cd /tmp && tar cf out.tar /etc/passwd 2>/dev/null\n');
    const env = { TAR_OPTIONS: '--checkpoint=1 --checkpoint-action=exec=true' };
    await expect(runSkill(skillbox, path, { env })).rejects.toMatchObject({ code: 'USAGE' });
  });
});

describe.skipIf(NO_SANDBOX)('between the answer and the start', () => {
  test('X-10 a workspace that leads elsewhere once the packages are built: the run does not start', async () => {
    const { skillbox } = await open();
    const place = tempDir('places', 0o755);
    const [asked, other, link] = ['asked', 'other', 'link'].map(name => join(place, name)) as [string, string, string];
    writeFiles(asked, { 'a.txt': 'a' });
    writeFiles(other, { 'b.txt': 'b' });
    symlinkSync(asked, link);
    const skill = writeFiles(join(tempDir('skill', 0o755), 'writer'), {
      'SKILL.md': '---\nname: writer\ndescription: Writes a file.\ntags: a\n---\n\nBody.\n',
      'requirements.txt': 'tabulate\n',
      'scripts/a.py': 'open("planted.txt", "w").close()\n',
    });
    const seen: (string | undefined)[] = [];
    const running = runSkill(skillbox, skill, {
      target: byPath('scripts/a.py'),
      workspace: link,
      trusted: false,
      ask: async ({ grant }) => {
        seen.push(grant.workspace?.path);
        symlinkSync(other, `${link}-new`);
        renameSync(`${link}-new`, link);
        return { answer: 'once', channel: 'terminal', by: 'tester' };
      },
    });
    await expect(running).rejects.toMatchObject({ code: 'SKILL_CHANGED' });
    expect(seen).toEqual([asked]);
    expect(existsSync(join(other, 'planted.txt'))).toBe(false);
  });
});
