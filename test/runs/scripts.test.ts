import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { RunRecord, Skillbox } from '../../src/app.ts';
import { logOf, NO_SANDBOX, openSkillbox, PROBES, runSkill, script, textOf, type Wish } from '../support/skillbox.ts';
import { tempDir, tidy } from '../support/temp.ts';
import { writeFiles } from '../temp.ts';

tidy();

describe.skipIf(NO_SANDBOX)('scripts in a workspace', () => {
  const data = tempDir('data');
  let skillbox: Skillbox;
  beforeAll(async () => {
    skillbox = await openSkillbox(data);
  });
  afterAll(() => skillbox?.close());
  const run = (wish: Wish) => runSkill(skillbox, join(PROBES, 'script-probe'), wish);
  const said = async (record: RunRecord, stream: string) =>
    (await logOf(skillbox, record))
      .filter(entry => entry.stream === stream)
      .map(({ text }) => text)
      .join('');
  const HARD = ['a b', '', '$(id)', '*', '--', "it's", 'é\n'];

  test('WS-10 a workspace that cannot be looked through does not run, unless the operator says so', async () => {
    const workspace = tempDir('workspace', 0o755);
    mkdirSync(join(workspace, 'd/'.repeat(50)), { recursive: true });
    await expect(run({ target: script('probe.sh'), workspace })).rejects.toMatchObject({
      code: 'SANDBOX_CANNOT_ENFORCE',
      hint: expect.stringContaining('lower: {workspace: none}'),
    });
    writeFileSync(join(data, 'policy.yaml'), 'version: 1\nlower: {workspace: none}\n', { mode: 0o600 });
    onTestFinished(() => rmSync(join(data, 'policy.yaml')));
    expect(await run({ target: script('probe.sh'), workspace })).toMatchObject({ state: 'success' });
  });

  test('WS-03 the workspace is the working directory, stdin is at its end, arguments come as they are', async () => {
    const workspace = writeFiles(tempDir('workspace', 0o755), { 'file.txt': 'x' });
    const record = await run({ target: script('probe.py', ...HARD), workspace, callerEnv: { TOKEN: 'secret' } });
    expect(record).toMatchObject({ state: 'failed', exitCode: 5, output: null, artifacts: [] });
    expect(await said(record, 'stderr')).toBe('to stderr\n');
    const seen = JSON.parse(await said(record, 'stdout'));
    expect(seen).toMatchObject({ argv: HARD, cwd: '/workspace', stdin: '', skill_writable: false, home: [] });
    expect(seen.root).not.toContain('work');
    const { PATH: _, LC_CTYPE: __, ...env } = seen.env;
    expect(env).toEqual({
      HOME: '/home/skill',
      LANG: 'C.UTF-8',
      SKILL_NAME: 'script-probe',
      SKILL_DIR: '/skill',
      WORKSPACE_DIR: '/workspace',
    });
  });

  test('WS-03 the text that is given is stdin', async () => {
    const record = await run({ target: script('probe.py'), stdin: 'some text ö\n' });
    expect(JSON.parse(await said(record, 'stdout')).stdin).toBe('some text ö\n');
  });

  test.each([
    ['probe.sh', `bash /workspace\n${HARD.join('\n')}\n`],
    ['other.bash', `bash /workspace\n${HARD.join('\n')}\n`],
    ['probe.js', `node /workspace ${JSON.stringify(HARD)}\n`],
    ['probe.ts', `typescript /workspace in good mood ${JSON.stringify(HARD)}\n`],
  ])('WS-02 %s runs by its extension', async (name, printed) => {
    const record = await run({ target: script(name, ...HARD) });
    expect(await textOf(skillbox, record)).toBe(printed);
    expect(record.state).toBe('success');
  });

  test('WS-09 without a workspace there is an empty private one, whose files are artifacts', async () => {
    const record = await run({ target: script('work.sh') });
    expect(record.artifacts.map(({ path }) => path)).toContain('result.txt');
    const again = await run({ target: script('probe.py') });
    expect(again.artifacts).toEqual([]);
  });

  test('WS-10 in a real repository ordinary work goes on, and nothing can be planted', async () => {
    const workspace = tempDir('workspace', 0o755);
    execFileSync('git', ['init', '-q', workspace]);
    writeFiles(workspace, { '.vscode/tasks.json': '{}', '.env': 'SECRET=1', '.git/hooks/pre-commit': '' });
    const before = readFileSync(join(workspace, '.git/config'), 'utf8');
    const record = await run({ target: script('work.sh'), workspace });
    const lines = (await textOf(skillbox, record)).split('\n');
    expect(lines).toEqual(
      expect.arrayContaining([
        'result done',
        'hook refused',
        'config refused',
        'vscode refused',
        'dotenv refused',
        'skill refused',
        'commit done',
      ]),
    );
    expect(readFileSync(join(workspace, '.git/config'), 'utf8')).toBe(before);
    expect(readFileSync(join(workspace, '.git/hooks/pre-commit'), 'utf8')).toBe('');
    expect(readFileSync(join(workspace, 'result.txt'), 'utf8')).toBe('planted\n');
    expect(statSync(join(workspace, 'result.txt')).uid).toBe(process.getuid?.());
    expect(existsSync(join(workspace, '.envrc'))).toBe(false);
    expect(record.warnings).toEqual([expect.stringMatching(/protected \.envrc; it was moved to/)]);
    expect(execFileSync('git', ['-C', workspace, 'log', '--format=%s'], { encoding: 'utf8' })).toBe('work\n');
  });

  test('WS-10 what stays where it was planted is told before what is gone', async () => {
    const workspace = tempDir('workspace', 0o755);
    const skill = writeFiles(tempDir('skill', 0o755), {
      'SKILL.md': '---\nname: probe\ndescription: x\ntags: x\n---\n',
      'scripts/x.sh': 'for i in $(seq 25); do mkdir -p $i/.vscode; done; mkdir -p $(printf "a/%.0s" $(seq 50))\n',
    });
    const { warnings } = await runSkill(skillbox, skill, {
      target: { kind: 'script', path: 'x.sh', arguments: [] },
      workspace,
    });
    expect(warnings).toHaveLength(21);
    expect(warnings[0]).toContain('too much to look through');
    expect(warnings.at(-1)).toBe('the run changed 6 more protected paths');
  });

  test('GB-11 the home directory and the data of Skillbox are no workspace', async () => {
    const home = process.env.HOME ?? '/root';
    for (const workspace of ['/', home]) {
      await expect(run({ target: script('probe.py'), workspace }), workspace).rejects.toMatchObject({ code: 'USAGE' });
    }
    await expect(run({ target: script('probe.py'), workspace: '/nowhere' })).rejects.toMatchObject({
      code: 'NOT_FOUND',
    });
    await expect(run({ target: script('probe.py'), workspace: '/etc/passwd' })).rejects.toMatchObject({
      code: 'USAGE',
    });
  });

  test('an argument that Linux cannot carry, or with a NUL, is refused before anything starts', async () => {
    for (const argument of ['x'.repeat(200_000), 'a\0b'])
      await expect(run({ target: script('probe.py', argument) })).rejects.toMatchObject({ code: 'INVALID_CALL' });
  });
});
