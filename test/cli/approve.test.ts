import { spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { run as runWords } from '../fake-io.ts';
import { newTool } from '../support/approvals.ts';
import { NO_SANDBOX, newSkill } from '../support/skillbox.ts';
import { tempDir, tidy } from '../support/temp.ts';
import { trustIn } from '../support/trust.ts';
import { writeFiles } from '../temp.ts';

tidy();

const cwd = tempDir('cwd', 0o755);
const newEnv = () => ({
  SKILLBOX_DATA_DIR: join(tempDir('data'), 'data'),
  HOME: tempDir('home'),
  PATH: '/usr/bin:/bin',
});
type Env = Record<string, string>;
const run = (env: Env, ...words: string[]) => runWords(words, { cwd, env });
const typed = (env: Env, answers: string[], ...words: string[]) => runWords(words, { cwd, env, answers });
const stranger = () => newSkill('bash', 'echo ran\n');

describe.skipIf(NO_SANDBOX)('skillbox run that must be asked', () => {
  test('what could carry data out and what is not set is said by the question, the dry run and the run that waits', async () => {
    const env = newEnv();
    const skill = writeFiles(tempDir('skill', 0o755), {
      'skill.yaml':
        'version: 1\nname: teller\ndescription: Tells.\ncapabilities:\n  - discord/messages.send\n  - brave/web.search\n',
      'SKILL.md': '# Teller\n\nTell.\n',
      'index.js': '',
    });
    const carries = 'With discord/messages.send it can send messages into channels: others can read what it sends.';
    const unset = (name: string) => `${name} is not set, and without it nothing would run: skillbox secret set ${name}`;
    const notes = [carries, unset('brave'), unset('discord')];

    const dry = await run(env, 'run', skill, '--dry-run');
    expect(dry.out).toContain(`\n${notes.map(note => `note: ${note}`).join('\n')}\n`);
    expect(JSON.parse((await run(env, 'run', skill, '--dry-run', '--json')).out)).toMatchObject({
      warnings: [],
      notes,
    });

    const waits = await run(env, 'run', skill);
    for (const note of notes) expect(waits.out).toContain(`warning: ${note}\n`);
    const { execution_id: id, ...told } = JSON.parse((await run(env, 'run', skill, '--json')).out);
    expect(told).toMatchObject({ status: 'waiting', warnings: notes });
    const question = JSON.parse((await run(env, 'approve', 'show', id, '--json')).out);
    expect([...question.reasons, ...question.warnings]).toEqual(expect.arrayContaining(notes));

    // It is not kept: what is set meanwhile is not said to be missing.
    expect(JSON.parse((await run(env, 'exec', 'show', id, '--json')).out)).toMatchObject({ warnings: [] });
  });

  test('X-13 what was asked for another sandbox is shown and started in that one, by the words that are told', async () => {
    const env = { ...newEnv(), SKILLBOX_ALLOW_UNISOLATED: 'yes' };
    const words = ['run', stranger(), '--sandbox', 'process', '--json'];
    const { execution_id: id, warnings } = JSON.parse((await run(env, ...words)).out);
    expect(warnings).toEqual(['without isolation: nothing stands between the skill and your account']);
    const shown = JSON.parse((await run(env, 'approve', 'show', id, '--json')).out);
    expect(shown.reasons).toContain('It runs without isolation: it can do all that your account can.');
    const allowed = await typed(env, [], 'approve', 'allow', id, '--json');
    expect(JSON.parse(allowed.out)).toMatchObject({ status: 'success', logs: 'ran\n', sandbox: { driver: 'process' } });
    // Who takes back that such runs may be can still say no.
    const { execution_id: other } = JSON.parse((await run(env, ...words)).out);
    const closed = { ...env, SKILLBOX_ALLOW_UNISOLATED: 'no' };
    expect((await run(closed, 'approve', 'allow', other)).code).toBe(6);
    expect((await run(closed, 'approve', 'deny', other)).code).toBe(0);
  });

  test('X-13 without a terminal it waits: exit 4, and the words that settle it', async () => {
    const env = newEnv();
    const skill = stranger();
    const { code, out } = await run(env, 'run', skill);
    expect(code).toBe(4);
    expect(out).toMatch(/… probe main: waiting\n {2}WAITING_FOR_APPROVAL: it waits for an answer/);
    const id = /approve allow ([0-9a-z]{26})/.exec(out)?.[1] ?? '';
    const shown = await run(env, 'approve', 'show', id);
    expect(shown).toMatchObject({
      code: 0,
      out: expect.stringMatching(/!! {2}UNTRUSTED[\s\S]*probe 1\.0\.0 wants to run/),
    });
    expect(shown.out).toContain('command   "bash" "/sandbox/scripts/main.sh"');
    const json = JSON.parse((await run(env, 'approve', 'show', id, '--json')).out);
    expect(json).toMatchObject({
      execution_id: id,
      trust: 'untrusted',
      banner: true,
      preview: { cwd: '/sandbox/out' },
    });
    const list = JSON.parse((await run(env, 'approve', 'list', '--json')).out);
    expect(list).toMatchObject({
      waiting: [
        { execution_id: id, status: 'waiting', expires_at: expect.stringMatching(/Z$/), skill: { name: 'probe' } },
      ],
      answers: [],
    });
    const allowed = await run(env, 'approve', 'allow', id);
    expect(allowed).toMatchObject({ code: 0, err: 'ran\n', out: expect.stringContaining('✔ probe main: success') });
    const settled = JSON.parse((await run(env, 'exec', 'show', id, '--json')).out);
    expect(settled).toMatchObject({
      status: 'success',
      decision: { verdict: 'ask', trust: 'untrusted', rule: { name: 'untrusted' } },
      approval: { answer: 'once', channel: 'flag' },
    });
    expect(await run(env, 'approve', 'allow', id)).toMatchObject({ code: 1, err: expect.stringContaining('not wait') });
  });

  test('allow ends with the exit code of the run; deny with 0, and the run with DENIED', async () => {
    const env = newEnv();
    const failing = newSkill('bash', 'exit 3\n');
    const wait = async (...more: string[]) =>
      JSON.parse((await run(env, 'run', failing, ...more, '--json')).out).execution_id;
    expect((await run(env, 'approve', 'allow', await wait())).code).toBe(1);
    const slow = newSkill('bash', 'sleep 20\n');
    const late = JSON.parse((await run(env, 'run', slow, '--timeout', '1s', '--json')).out).execution_id;
    expect((await run(env, 'approve', 'allow', late, '--json')).code).toBe(124);
    const denied = await wait();
    expect((await run(env, 'approve', 'deny', denied.slice(0, 25))).code).toBe(0);
    expect(JSON.parse((await run(env, 'exec', 'show', denied, '--json')).out)).toMatchObject({
      status: 'failed',
      error: { code: 'DENIED' },
      approval: { answer: 'deny' },
    });
    expect(await run(env, 'approve', 'allow', 'zzzz')).toMatchObject({ code: 5 });
  });

  test('--yes allows one run where the policy lets a flag do so, and says so', async () => {
    const env = newEnv();
    const skill = stranger();
    const { code, out } = await run(env, 'run', skill, '--yes', '--json');
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ status: 'success', approval: { answer: 'once', channel: 'flag' } });
    expect((await run(env, 'run', skill, '--json')).code).toBe(4);
  });

  test('words on the command line never allow for later: that takes a person', async () => {
    const env = newEnv();
    const tool = trustIn(env.SKILLBOX_DATA_DIR, newTool());
    const words = ['run', tool, 'say', '--param', 'text=x', '--json'];
    const { execution_id: id } = JSON.parse((await run(env, ...words)).out);
    for (const also of [
      ['allow', id, '--always'],
      ['deny', id, '--always'],
    ])
      expect(await run(env, 'approve', ...also)).toMatchObject({
        code: 4,
        err: expect.stringContaining('comes by flag'),
      });
    expect(await typed(env, [], 'approve', 'allow', id, '--always')).toMatchObject({ code: 0 });
    expect(JSON.parse((await run(env, ...words)).out)).toMatchObject({ status: 'success', approval: null });
    const { answers } = JSON.parse((await run(env, 'approve', 'list', '--json')).out);
    expect(answers).toMatchObject([{ answer: 'always', channel: 'terminal', target: { kind: 'tool', name: 'say' } }]);
    expect(await run(env, 'approve', 'revoke', answers[0].id)).toMatchObject({ code: 0 });
    expect((await run(env, ...words)).code).toBe(4);
  });

  test('a "deny always" is taken back by a person only; so is everything at once', async () => {
    const env = newEnv();
    const tool = trustIn(env.SKILLBOX_DATA_DIR, newTool());
    const words = ['run', tool, 'say', '--param', 'text=x'];
    expect((await typed(env, ['D'], ...words)).code).toBe(4);
    expect(await run(env, ...words, '--yes')).toMatchObject({
      code: 4,
      out: expect.stringContaining('must never run'),
    });
    expect((await run(env, 'policy', 'explain', tool)).out).toContain('must never run');
    const [given] = JSON.parse((await run(env, 'approve', 'list', '--json')).out).answers;
    expect((await run(env, 'approve', 'revoke', given.id)).code).toBe(4);
    expect((await run(env, 'approve', 'reset')).code).toBe(4);
    expect((await typed(env, [], 'approve', 'revoke', given.id)).code).toBe(0);
    expect((await run(env, ...words, '--yes')).code).toBe(0);
    expect((await typed(env, [], 'approve', 'reset')).code).toBe(0);
  });

  test('an agent that says what it is gets no prompt, and its answers widen nothing', async () => {
    const env = { ...newEnv(), SKILLBOX_AGENT: '1' };
    const open = trustIn(env.SKILLBOX_DATA_DIR, newTool({ frontmatter: 'network: true\n' }));
    const { code, err, out } = await typed(env, ['a', 'o'], 'run', open, 'say', '--param', 'text=x', '--json');
    expect({ code, err }).toEqual({ code: 4, err: '' });
    const { execution_id: id } = JSON.parse(out);
    expect((await run(env, 'run', open, 'say', '--param', 'text=x', '--yes')).code).toBe(4);
    expect((await typed(env, [], 'approve', 'allow', id)).code).toBe(4);
    expect((await typed(env, [], 'approve', 'reset')).code).toBe(4);
    // With the least power it may pass an answer on: that is what elicitation is for.
    expect((await run(env, 'run', stranger(), '--yes')).code).toBe(0);
  });
});

describe.skipIf(NO_SANDBOX)('the prompt', () => {
  test.each([
    ['o', 0],
    ['O', 0],
    ['once', 0],
    ['d', 4],
    ['', 4],
    ['yes', 4],
  ])('%j ends with %i', async (answer, code) => {
    const env = newEnv();
    const ran = await typed(env, [answer], 'run', stranger());
    expect(ran.code).toBe(code);
    expect(ran.err).toContain('Answer (o/d/D, empty is deny): ');
  });

  test('the end of input is a no', async () => {
    const ran = await typed(newEnv(), [], 'run', stranger());
    expect(ran).toMatchObject({ code: 4, out: expect.stringContaining('DENIED') });
  });

  test('only what the policy lets a terminal answer is offered', async () => {
    const env = newEnv();
    const ran = await typed(env, ['a', 'a', 'a', 'o'], 'run', stranger());
    // Untrusted asks each time: there is no "always", and a person who insists has said no.
    expect(ran.code).toBe(4);
    expect(ran.err).not.toContain('always: run it now');
  });
});

describe.skipIf(NO_SANDBOX)('the built program', () => {
  const program = join(import.meta.dirname, '../../dist/cli/skillbox.cjs');
  beforeAll(() => {
    if (!existsSync(program)) throw new Error('npm run build comes first');
  });

  test('two processes that allow at once: one runs it, the other is told', async () => {
    const env = newEnv();
    const { execution_id: id } = JSON.parse(
      (await run(env, 'run', newSkill('bash', 'echo ran; sleep 0.3\n'), '--json')).out,
    );
    const allow = () =>
      new Promise<{ code: number | null; err: string }>(resolve => {
        const child = spawn(process.execPath, [program, 'approve', 'allow', id], { cwd, env });
        let err = '';
        child.stderr.setEncoding('utf8').on('data', (text: string) => {
          err += text;
        });
        child.once('close', code => resolve({ code, err }));
      });
    const both = await Promise.all([allow(), allow()]);
    expect(both.map(({ code }) => String(code)).sort()).toEqual(['0', '1']);
    expect(both.find(({ code }) => code === 1)?.err).toContain('does not wait');
    expect(JSON.parse((await run(env, 'exec', 'show', id, '--json')).out)).toMatchObject({
      status: 'success',
      logs: 'ran\n',
    });
  });

  test('a pipe on standard input that says "always" is not a terminal', () => {
    const env = newEnv();
    const ran = spawnSync(process.execPath, [program, 'run', stranger(), '--json'], {
      cwd,
      env,
      input: 'a\nalways\no\nonce\n',
      encoding: 'utf8',
    });
    expect({ status: ran.status, stderr: ran.stderr }).toEqual({ status: 4, stderr: '' });
    expect(JSON.parse(ran.stdout)).toMatchObject({ status: 'waiting', approval: null });
  });
});
